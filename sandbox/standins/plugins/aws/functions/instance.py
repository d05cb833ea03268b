"""aws:ec2/getInstance: one instance, with the attributes that DescribeInstances tells."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import InvokeFailure, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.ec2_values import filters_for, rfc3339
from sandbox.standins.plugins.aws.errors import aws_errors, error_code
from sandbox.standins.plugins.aws.functions.function import AwsFunction
from sandbox.standins.plugins.aws.functions.instances import ipv6_addresses
from sandbox.standins.plugins.aws.scope import not_implemented
from sandbox.standins.plugins.aws.tags import from_aws


class Instance(AwsFunction):
    """Found by id, filters or tags; block devices, user data and passwords are the official plugin's."""

    token = "aws:ec2/getInstance:getInstance"
    arguments = ("filters", "getPasswordData", "getUserData", "instanceId", "instanceTags", "region", "tags")

    def run(self, ctx: Context, args: Props) -> Props:
        for name in ("getPasswordData", "getUserData"):
            if args.get(name):
                raise InvokeFailure("", not_implemented(f"the argument '{name}' of {self.token}"))
        region = self.region_of(args)
        instance = self._find(region, args)
        arn = self.cloud.arn("ec2", region, self.cloud.account_id(), f"instance/{instance['InstanceId']}")
        tags = self.cloud.config.tag_rules.all_shown(from_aws(instance.get("Tags")))
        return args | _described(instance) | {"arn": arn, "region": region, "tags": tags}

    def _find(self, region: str, args: Props) -> Any:
        request: dict[str, Any] = {}
        if args.get("instanceId"):
            request["InstanceIds"] = [args["instanceId"]]
        if filters := filters_for(args.get("filters"), args.get("instanceTags")):
            request["Filters"] = filters
        with aws_errors("reading EC2 Instance"):
            try:
                groups = self.cloud.ec2(region).describe_instances(**request)["Reservations"]
            except ClientError as error:
                if error_code(error) != "InvalidInstanceID.NotFound":
                    raise
                groups = []
        found = [
            instance
            for group in groups
            for instance in group["Instances"]
            if instance.get("State", {}).get("Name") != "terminated"
        ]
        if not found:
            raise ProviderError("Your query returned no results. Please change your search criteria and try again.")
        if len(found) > 1:
            raise ProviderError("Your query returned more than one result. Please try a more specific search criteria.")
        return found[0]


def _described(instance: Any) -> Props:
    placement = instance.get("Placement") or {}
    interfaces = instance.get("NetworkInterfaces") or []
    profile = str((instance.get("IamInstanceProfile") or {}).get("Arn", ""))
    return {
        "ami": instance.get("ImageId") or "",
        "availabilityZone": placement.get("AvailabilityZone") or "",
        "ebsOptimized": bool(instance.get("EbsOptimized")),
        "iamInstanceProfile": profile.rsplit("/", 1)[-1],
        "id": instance["InstanceId"],
        "instanceId": instance["InstanceId"],
        "instanceState": instance["State"]["Name"],
        "instanceType": instance.get("InstanceType") or "",
        "ipv6Addresses": ipv6_addresses(instance),
        "keyName": instance.get("KeyName") or "",
        "launchTime": rfc3339(instance["LaunchTime"]) if instance.get("LaunchTime") else "",
        "monitoring": (instance.get("Monitoring") or {}).get("State") in ("enabled", "pending"),
        "networkInterfaceId": interfaces[0].get("NetworkInterfaceId", "") if interfaces else "",
        "placementGroup": placement.get("GroupName") or "",
        "privateDns": instance.get("PrivateDnsName") or "",
        "privateIp": instance.get("PrivateIpAddress") or "",
        "publicDns": instance.get("PublicDnsName") or "",
        "publicIp": instance.get("PublicIpAddress") or "",
        "sourceDestCheck": bool(instance.get("SourceDestCheck")),
        "subnetId": instance.get("SubnetId") or "",
        "tenancy": placement.get("Tenancy") or "",
        "vpcSecurityGroupIds": sorted(group["GroupId"] for group in instance.get("SecurityGroups") or []),
    }
