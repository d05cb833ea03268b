"""Fills the empty cloud with what the sandbox is about: a network, a role, and running instances. Safe to repeat."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sandbox.cloud.aws_client import client
from sandbox.cloud.credentials import AwsCredentials
from sandbox.machine import ami, inventory
from sandbox.machine.errors import CloudError
from sandbox.machine.waiting import until
from sandbox.settings import InstanceSpec, SandboxSettings

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_iam import IAMClient

ROLE: Final = "nomad-client"
PROFILE: Final = "nomad-client"
INSTANCE_TYPE: Final = "t3.medium"
_REBOOT_TIMEOUT_S: Final = 30.0

UserData = Callable[[InstanceSpec, str], str]
"""Makes an instance's boot script from its spec and its address."""


@dataclass(frozen=True)
class SeededInstance:
    """An instance that runs."""

    instance_id: str
    name: str
    zone: str
    address: str


@dataclass(frozen=True)
class Seed:
    """What is in the cloud now."""

    instances: tuple[SeededInstance, ...]
    changed: bool
    """Whether anything had to be made or started."""


def seed(settings: SandboxSettings, user_data: UserData, access_key_id: str, secret_access_key: str) -> Seed:
    """Makes what is missing, starts instances that are off, and returns the instances."""
    keys = AwsCredentials(access_key_id, secret_access_key)
    ec2: EC2Client = client(settings, "ec2", keys)
    iam: IAMClient = client(settings, "iam", keys)
    _ensure_role(iam)
    vpc_id = _vpc(ec2, settings)
    subnet_ids = {zone: _subnet(ec2, settings, vpc_id, zone) for zone in settings.zones}
    instances: list[SeededInstance] = []
    changed = False
    for spec in settings.instances:
        instance_id, made = _instance(ec2, settings, spec, subnet_ids[spec.zone], user_data)
        address = str(settings.instance_address(spec))
        instances.append(SeededInstance(instance_id, spec.name, spec.zone, address))
        changed = changed or made
    return Seed(tuple(instances), changed)


def _ensure_role(iam: IAMClient) -> None:
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"},
        ],
    }
    try:
        iam.get_role(RoleName=ROLE)
    except iam.exceptions.NoSuchEntityException:
        iam.create_role(
            RoleName=ROLE, AssumeRolePolicyDocument=json.dumps(trust), Description="Role of the Nomad clients"
        )
    try:
        profile = iam.get_instance_profile(InstanceProfileName=PROFILE)["InstanceProfile"]
    except iam.exceptions.NoSuchEntityException:
        profile = iam.create_instance_profile(InstanceProfileName=PROFILE)["InstanceProfile"]
    if not profile["Roles"]:
        iam.add_role_to_instance_profile(InstanceProfileName=PROFILE, RoleName=ROLE)


def _vpc(ec2: EC2Client, settings: SandboxSettings) -> str:
    found = ec2.describe_vpcs(Filters=[{"Name": "tag:Name", "Values": [settings.name]}])["Vpcs"]
    if found:
        return found[0]["VpcId"]
    tags: Any = [{"ResourceType": "vpc", "Tags": [{"Key": "Name", "Value": settings.name}]}]
    return ec2.create_vpc(CidrBlock=str(settings.subnet), TagSpecifications=tags)["Vpc"]["VpcId"]


def _subnet(ec2: EC2Client, settings: SandboxSettings, vpc_id: str, zone: str) -> str:
    name = f"{settings.name}-{zone}"
    found = ec2.describe_subnets(Filters=[{"Name": "tag:Name", "Values": [name]}])["Subnets"]
    if found:
        return found[0]["SubnetId"]
    made = ec2.create_subnet(
        VpcId=vpc_id,
        AvailabilityZone=zone,
        CidrBlock=str(settings.zone_subnet(zone)),
        TagSpecifications=[{"ResourceType": "subnet", "Tags": [{"Key": "Name", "Value": name}]}],
    )
    return made["Subnet"]["SubnetId"]


def _instance(
    ec2: EC2Client, settings: SandboxSettings, spec: InstanceSpec, subnet_id: str, user_data: UserData
) -> tuple[str, bool]:
    instance_id, state = _existing(ec2, spec)
    if instance_id and state == "running":
        if inventory.find(settings, instance_id).alive:
            return instance_id, False
        # EC2 calls an instance running even after its kernel died; a reboot brings it back.
        ec2.reboot_instances(InstanceIds=[instance_id])
        _await_alive(settings, spec, instance_id)
        return instance_id, True
    if instance_id:
        ec2.get_waiter("instance_stopped").wait(
            InstanceIds=[instance_id], WaiterConfig={"Delay": 1, "MaxAttempts": 150}
        )
        ec2.start_instances(InstanceIds=[instance_id])
        return instance_id, True
    _await_gone(ec2, spec)
    address = str(settings.instance_address(spec))
    launched = ec2.run_instances(
        ImageId=ami.IMAGE_ID,
        InstanceType=INSTANCE_TYPE,
        MinCount=1,
        MaxCount=1,
        SubnetId=subnet_id,
        PrivateIpAddress=address,
        IamInstanceProfile={"Name": PROFILE},
        MetadataOptions={"HttpTokens": "required", "HttpEndpoint": "enabled", "HttpPutResponseHopLimit": 2},
        TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": spec.name}]}],
        UserData=user_data(spec, address),
    )
    return launched["Instances"][0]["InstanceId"], True


def _await_gone(ec2: EC2Client, spec: InstanceSpec) -> None:
    """Waits for an instance of that name that is being terminated: it has the address until it is gone."""
    leaving = ec2.describe_instances(
        Filters=[
            {"Name": "tag:Name", "Values": [spec.name]},
            {"Name": "instance-state-name", "Values": ["shutting-down"]},
        ]
    )
    ids = [instance["InstanceId"] for reservation in leaving["Reservations"] for instance in reservation["Instances"]]
    if ids:
        ec2.get_waiter("instance_terminated").wait(InstanceIds=ids, WaiterConfig={"Delay": 1, "MaxAttempts": 60})


def _await_alive(settings: SandboxSettings, spec: InstanceSpec, instance_id: str) -> None:
    if not until(lambda: inventory.find(settings, instance_id).alive, _REBOOT_TIMEOUT_S):
        raise CloudError(
            f"{spec.name} ({instance_id}) did not come back within {_REBOOT_TIMEOUT_S:.0f} s after its reboot; "
            f"see {settings.log_dir / spec.name}.log"
        )


def _existing(ec2: EC2Client, spec: InstanceSpec) -> tuple[str, str]:
    states = ["pending", "running", "stopping", "stopped"]
    found = ec2.describe_instances(
        Filters=[{"Name": "tag:Name", "Values": [spec.name]}, {"Name": "instance-state-name", "Values": states}]
    )
    for reservation in found["Reservations"]:
        for instance in reservation["Instances"]:
            return instance["InstanceId"], instance["State"]["Name"]
    return "", ""
