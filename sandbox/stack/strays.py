"""What a create that was cut off, or never got its answer, left in the account: made there, but in no state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from nomad_stateful.ebs.tags import GUARD_TAG
from sandbox.cloud.aws_client import client
from sandbox.settings import SandboxSettings
from sandbox.stack.stack import Stack

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_iam import IAMClient


_GUARD: Final = "nomad-csi:index:VolumeGuard"
_VOLUME: Final = "aws:ebs/volume:Volume"


@dataclass(frozen=True)
class Cleared:
    """What was done about an interrupted run, in sentences, and the resources that the state has."""

    said: Sequence[str]
    resources: Sequence[dict[str, Any]]
    was_cut_off: bool
    """Whether an earlier run of Pulumi left something to end, so that the state may know less than happened."""


def clear_interrupted(settings: SandboxSettings, stack: Stack) -> Cleared:
    """Ends what an interrupted or failed run left, in the state and in the account.

    Raises:
        StackError: a pulumi that is alive is changing the stack.
    """
    recovery = stack.recover()
    resources = stack.resources()
    removed = remove(settings, recovery.cut_off, resources) if recovery.cut_off else []
    said = [*recovery.said, *removed, *remove_unanswered(settings, resources)]
    return Cleared(said, resources, bool(recovery.said))


def remove(
    settings: SandboxSettings, cut_off: Sequence[dict[str, Any]], resources: Sequence[dict[str, Any]]
) -> list[str]:
    """Deletes volumes and policies that are what a cut-off create asked for and that no resource knows."""
    known = {str(item.get("id", "")) for item in resources}
    creates = [item["resource"] for item in cut_off if item["type"] == "creating"]
    volumes = [item.get("inputs") or {} for item in creates if item["type"] == _VOLUME]
    policies = {(item.get("inputs") or {}).get("name") for item in creates if item["type"] == "aws:iam/policy:Policy"}
    said: list[str] = []
    if volumes:
        said += _volumes(client(settings, "ec2"), volumes, known)
    if policies:
        said += _policies(client(settings, "iam"), policies, known)
    return said


def remove_unanswered(settings: SandboxSettings, resources: Sequence[dict[str, Any]]) -> list[str]:
    """Deletes volumes that a failed create made after all: their tag names a guard whose volume is in no state."""
    guards = {(item.get("outputs") or {}).get("guardId") for item in resources if item["type"] == _GUARD}
    made = [item.get("outputs") or {} for item in resources if item["type"] == _VOLUME]
    alone = guards - {(volume.get("tags") or {}).get(GUARD_TAG) for volume in made} - {None}
    if not alone:
        return []
    ec2 = client(settings, "ec2")
    tagged: Any = [
        {"Name": f"tag:{GUARD_TAG}", "Values": sorted(alone)},
        {"Name": "status", "Values": ["available"]},
    ]
    said = []
    for volume in ec2.describe_volumes(Filters=tagged)["Volumes"]:
        ec2.delete_volume(VolumeId=volume["VolumeId"])
        said.append(f"deleted {volume['VolumeId']}, made by a create that got no answer")
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
