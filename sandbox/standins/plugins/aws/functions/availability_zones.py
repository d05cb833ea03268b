"""aws:index/getAvailabilityZones: the zones of a region."""

from __future__ import annotations

from typing import Any, Final

from nomad_stateful.plugin_server.plugin import InvokeFailure, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.ec2_values import filters_for
from sandbox.standins.plugins.aws.errors import aws_errors
from sandbox.standins.plugins.aws.functions.function import AwsFunction

_STATES: Final = ("available", "constrained", "impaired", "information", "unavailable")


class AvailabilityZones(AwsFunction):
    """Names and ids are both sorted by zone name, so that equal places belong together."""

    token = "aws:index/getAvailabilityZones:getAvailabilityZones"
    arguments = ("allAvailabilityZones", "excludeNames", "excludeZoneIds", "filters", "region", "state")

    def run(self, ctx: Context, args: Props) -> Props:
        state = args.get("state")
        if state and state not in _STATES:
            raise InvokeFailure("state", f"expected state to be one of {', '.join(_STATES)}, got {state}")
        region = self.region_of(args)
        filters = filters_for(args.get("filters"))
        if state:
            filters.append({"Name": "state", "Values": [state]})
        request: dict[str, Any] = {"Filters": filters} if filters else {}
        if args.get("allAvailabilityZones"):
            request["AllAvailabilityZones"] = True
        with aws_errors("fetching Availability Zones"):
            answer = self.cloud.ec2(region).describe_availability_zones(**request)["AvailabilityZones"]
        zones = sorted((zone for zone in answer if _wanted(zone, args)), key=lambda zone: str(zone["ZoneName"]))
        return args | {
            "groupNames": sorted({str(zone["GroupName"]) for zone in zones if zone.get("GroupName")}),
            "id": region,
            "names": [zone["ZoneName"] for zone in zones],
            "region": region,
            "zoneIds": [zone["ZoneId"] for zone in zones],
        }


def _wanted(zone: Any, args: Props) -> bool:
    named_out = zone["ZoneName"] in (args.get("excludeNames") or ())
    return not named_out and zone["ZoneId"] not in (args.get("excludeZoneIds") or ())
