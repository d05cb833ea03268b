"""aws:index/getRegion: a region's name in words and its EC2 endpoint; no call to AWS is made."""

from __future__ import annotations

import functools

from nomad_stateful.plugin_server.plugin import InvokeFailure, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.functions.function import AwsFunction


class Region(AwsFunction):
    """The provider's region, or the one asked for by `region`, `name` or `endpoint`."""

    token = "aws:index/getRegion:getRegion"
    arguments = ("endpoint", "id", "name", "region")

    def run(self, ctx: Context, args: Props) -> Props:
        known = _regions()
        asked = args.get("region") or args.get("name")
        endpoint = args.get("endpoint")
        if endpoint:
            asked_by_endpoint = next((name for name, (_, host) in known.items() if host == endpoint), None)
            if asked_by_endpoint is None:
                raise InvokeFailure("", f'region not found for endpoint "{endpoint}"')
            if asked and asked != asked_by_endpoint:
                raise InvokeFailure("", f"multiple regions matched: endpoint '{endpoint}' is not in '{asked}'")
            asked = asked_by_endpoint
        region = str(asked or self.cloud.config.region)
        if region not in known:
            raise InvokeFailure("", f'region not found for name "{region}"')
        description, host = known[region]
        return {"description": description, "endpoint": host, "id": region, "name": region, "region": region}


@functools.cache
def _regions() -> dict[str, tuple[str, str]]:
    """Returns description and EC2 host of every region that botocore knows."""
    from botocore.loaders import create_loader

    data = create_loader().load_data("endpoints")
    return {
        name: (about.get("description", ""), f"ec2.{name}.{partition['dnsSuffix']}")
        for partition in data["partitions"]
        for name, about in partition["regions"].items()
    }
