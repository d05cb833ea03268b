"""aws:index/getAvailabilityZones: the zones of the provider's region."""

from __future__ import annotations

from typing import Any, Final

from nomad_stateful.plugin_server.plugin import InvokeFailure, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.errors import aws_errors
from sandbox.standins.plugins.aws.functions.function import AwsFunction

_STATES: Final = ("available", "constrained", "impaired", "information", "unavailable")


class AvailabilityZones(AwsFunction):
    """Names and ids are both sorted by zone name, so that equal places belong together."""

    token = "aws:index/getAvailabilityZones:getAvailabilityZones"
    arguments = ("state",)

    def run(self, ctx: Context, args: Props) -> Props:
        state = args.get("state")
        if state and state not in _STATES:
            raise InvokeFailure("state", f"expected state to be one of {', '.join(_STATES)}, got {state}")
        region = self.cloud.config.region
        request: dict[str, Any] = {"Filters": [{"Name": "state", "Values": [state]}]} if state else {}
        with aws_errors("fetching Availability Zones"):
            answer = self.cloud.ec2(region).describe_availability_zones(**request)["AvailabilityZones"]
        zones = sorted(answer, key=lambda zone: str(zone["ZoneName"]))
        return args | {
            "groupNames": sorted({str(zone["GroupName"]) for zone in zones if zone.get("GroupName")}),
            "id": region,
            "names": [zone["ZoneName"] for zone in zones],
            "region": region,
            "zoneIds": [zone["ZoneId"] for zone in zones],
        }
