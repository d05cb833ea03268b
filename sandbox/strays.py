"""What a Pulumi that was killed in the middle of a create left in the account: made there, but in no state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sandbox.inventory import client
from sandbox.settings import SandboxSettings

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_iam import IAMClient


def remove(
    settings: SandboxSettings, cut_off: Sequence[dict[str, Any]], resources: Sequence[dict[str, Any]]
) -> list[str]:
    """Deletes volumes and policies that are what a cut-off create asked for and that no resource knows."""
    known = {str(item.get("id", "")) for item in resources}
    creates = [item["resource"] for item in cut_off if item["type"] == "creating"]
    volumes = [item.get("inputs") or {} for item in creates if item["type"] == "aws:ebs/volume:Volume"]
    policies = {(item.get("inputs") or {}).get("name") for item in creates if item["type"] == "aws:iam/policy:Policy"}
    said: list[str] = []
    if volumes:
        said += _volumes(client(settings, "ec2"), volumes, known)
    if policies:
        said += _policies(client(settings, "iam"), policies, known)
    return said


def _volumes(ec2: EC2Client, wanted: Sequence[dict[str, Any]], known: set[str]) -> list[str]:
    said = []
    for volume in ec2.describe_volumes(Filters=[{"Name": "status", "Values": ["available"]}])["Volumes"]:
        identity = volume["VolumeId"]
        if identity not in known and any(_is_what_was_asked(volume, inputs) for inputs in wanted):
            ec2.delete_volume(VolumeId=identity)
            said.append(f"deleted {identity}, made by a create that was cut off")
    return said


def _is_what_was_asked(volume: Any, inputs: dict[str, Any]) -> bool:
    tags = {tag["Key"]: tag["Value"] for tag in volume.get("Tags", [])}
    asked = inputs.get("tags") or {}
    return (
        volume["AvailabilityZone"] == inputs.get("availabilityZone")
        and volume["Size"] == inputs.get("size")
        and bool(asked)
        and asked.items() <= tags.items()
    )


def _policies(iam: IAMClient, names: set[Any], known: set[str]) -> list[str]:
    said = []
    for policy in iam.list_policies(Scope="Local")["Policies"]:
        if policy["PolicyName"] in names and policy["Arn"] not in known and not policy["AttachmentCount"]:
            iam.delete_policy(PolicyArn=policy["Arn"])
            said.append(f"deleted the policy {policy['PolicyName']}, made by a create that was cut off")
    return said
