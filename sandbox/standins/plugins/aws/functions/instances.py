"""aws:ec2/getInstances: ids and addresses of the instances that match."""

from __future__ import annotations

from typing import Any

from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.ec2_values import filters_for
from sandbox.standins.plugins.aws.errors import aws_errors
from sandbox.standins.plugins.aws.functions.function import AwsFunction


class Instances(AwsFunction):
    """Running ones unless other states are asked for; none found is an empty answer."""

    token = "aws:ec2/getInstances:getInstances"
    arguments = ("filters", "instanceStateNames", "instanceTags", "region")

    def run(self, ctx: Context, args: Props) -> Props:
        region = self.region_of(args)
        states = args.get("instanceStateNames") or ["running"]
        filters: Any = filters_for(args.get("filters"), args.get("instanceTags"))
        filters.append({"Name": "instance-state-name", "Values": list(states)})
        with aws_errors("reading EC2 Instances"):
            pages = self.cloud.ec2(region).get_paginator("describe_instances").paginate(Filters=filters)
            found = [instance for page in pages for group in page["Reservations"] for instance in group["Instances"]]
        return args | {
            "id": region,
            "ids": [instance["InstanceId"] for instance in found],
            "instanceTags": args.get("instanceTags") or {},
            "ipv6Addresses": [address for instance in found for address in ipv6_addresses(instance)],
            "privateIps": [instance["PrivateIpAddress"] for instance in found if instance.get("PrivateIpAddress")],
            "publicIps": [instance["PublicIpAddress"] for instance in found if instance.get("PublicIpAddress")],
            "region": region,
        }


def ipv6_addresses(instance: Any) -> list[str]:
    """Returns the IPv6 addresses of all of an instance's network interfaces."""
    return [
        address["Ipv6Address"]
        for interface in instance.get("NetworkInterfaces") or []
        for address in interface.get("Ipv6Addresses") or []
    ]
