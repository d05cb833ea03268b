"""What is in the sandbox's AWS account, read through its API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.cloud.aws_client import client
from sandbox.settings import SandboxSettings

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_iam import IAMClient


def account_contents(settings: SandboxSettings) -> list[str]:
    """Names of everything in the account that only a stack or a driver makes."""
    ec2: EC2Client = client(settings, "ec2")
    iam: IAMClient = client(settings, "iam")
    roots, of_images = root_volumes(ec2), _image_snapshots(ec2)
    volumes = [item["VolumeId"] for item in ec2.describe_volumes()["Volumes"]]
    snapshots = [item["SnapshotId"] for item in ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]]
    found = [f"volume {volume}" for volume in volumes if volume not in roots]
    found += [f"snapshot {snapshot}" for snapshot in snapshots if snapshot not in of_images]
    found += [f"policy {item['PolicyName']}" for item in iam.list_policies(Scope="Local")["Policies"]]
    return found


def root_volumes(ec2: EC2Client) -> set[str]:
    """Volumes that belong to an instance from its start."""
    return {
        mapping["Ebs"]["VolumeId"]
        for reservation in ec2.describe_instances()["Reservations"]
        for instance in reservation["Instances"]
        for mapping in instance.get("BlockDeviceMappings", [])
        if mapping["DeviceName"] == instance.get("RootDeviceName")
    }


def _image_snapshots(ec2: EC2Client) -> set[str]:
    return {
        mapping["Ebs"].get("SnapshotId", "")
        for image in ec2.describe_images()["Images"]
        for mapping in image.get("BlockDeviceMappings", [])
        if "Ebs" in mapping
    }
