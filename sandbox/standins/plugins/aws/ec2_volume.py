"""A volume as EC2 describes it, and the waits for what becomes of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.errors import aws_errors, error_code
from sandbox.standins.plugins.aws.times import rfc3339
from sandbox.standins.plugins.aws.waits import NotYet, Wait, wait_until

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

UPDATE_TIMEOUT_S: Final = 300
_NOT_LISTED_S: Final = 60  # a volume just made that EC2 does not list for longer is gone


def describe_volume(ec2: EC2Client, id: str) -> Mapping[str, Any] | None:
    """Returns EC2's description of a volume, None when there is none."""
    try:
        volumes = ec2.describe_volumes(VolumeIds=[id])["Volumes"]
    except ClientError as error:
        if error_code(error) == "InvalidVolume.NotFound":
            return None
        raise
    return volumes[0] if volumes else None


def volume_values(volume: Mapping[str, Any]) -> Props:
    """Returns EC2's description as the properties of a volume that need no configuration."""
    return {
        "availabilityZone": volume.get("AvailabilityZone") or "",
        "createTime": rfc3339(volume["CreateTime"]),
        "encrypted": bool(volume.get("Encrypted")),
        "iops": volume.get("Iops") or 0,
        "kmsKeyId": volume.get("KmsKeyId") or "",
        "multiAttachEnabled": bool(volume.get("MultiAttachEnabled")),
        "outpostArn": volume.get("OutpostArn") or "",
        "size": volume.get("Size") or 0,
        "snapshotId": volume.get("SnapshotId") or "",
        "throughput": volume.get("Throughput") or 0,
        "type": volume.get("VolumeType") or "",
        "volumeInitializationRate": volume.get("VolumeInitializationRate") or 0,
    }


def wait_usable(ctx: Context, ec2: EC2Client, id: str, timeout_s: float, doing: str) -> None:
    """Waits until a volume can be used after what was done to it, "create" or "update"; raises ProviderError."""
    listed_by = time.monotonic() + _NOT_LISTED_S

    def probe() -> None:
        volume = describe_volume(ec2, id)
        if volume is None and doing == "create" and time.monotonic() < listed_by:
            raise NotYet("EC2 does not list it yet")
        state = volume.get("State", "") if volume else "gone"
        if state in ("creating", "modifying"):
            raise NotYet(f"EC2 reports it {state}")
        if state not in ("available", "in-use"):
            hint = " (for an encrypted volume: may the key be used?)" if doing == "create" else ""
            raise ProviderError(f"EC2 reports it {state}{hint}")

    wait = Wait(f"EBS volume {id} to be usable", "EC2 reports it available", timeout_s)
    with aws_errors(f"waiting for EBS Volume ({id}) {doing}"):
        wait_until(ctx, wait, probe)


def try_delete(ec2: EC2Client, id: str) -> bool:
    """Deletes a volume; returns False when it was gone already, raises NotYet while it is attached."""
    try:
        ec2.delete_volume(VolumeId=id)
    except ClientError as error:
        if error_code(error) == "InvalidVolume.NotFound":
            return False
        if error_code(error) == "VolumeInUse":
            raise NotYet(f"VolumeInUse: {_attachment(ec2, id)}") from None
        raise
    return True


def _attachment(ec2: EC2Client, id: str) -> str:
    attached = (describe_volume(ec2, id) or {}).get("Attachments") or []
    places = [f"{item.get('State')} to {item.get('InstanceId')} as {item.get('Device')}" for item in attached]
    return ", ".join(places) or "EC2 does not say what holds it"


def expect_gone(ec2: EC2Client, id: str) -> None:
    """Raises NotYet while EC2 lists a volume that is being deleted."""
    volume = describe_volume(ec2, id)
    if volume is not None and volume.get("State") != "deleted":
        raise NotYet(f"EC2 reports it {volume.get('State')}")
