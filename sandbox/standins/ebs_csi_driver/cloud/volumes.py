"""EBS volumes: make, find, enlarge, delete."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sandbox.standins.ebs_csi_driver.cloud.client import Ec2
from sandbox.standins.ebs_csi_driver.cloud.errors import CloudError, Kind, dry_run, translated
from sandbox.standins.ebs_csi_driver.cloud.waiting import until

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import VolumeTypeDef

CREATE_TIMEOUT_S: Final = 60.0
MODIFY_TIMEOUT_S: Final = 120.0
VISIBLE_TIMEOUT_S: Final = 10.0
"""How long a volume just made may not be described yet; after that it is one that is gone."""
NAME_TAG: Final = "CSIVolumeName"
IOPS_DRY_RUN: Final = "IopsLimitDryRun"
_TOO_MANY_IOPS: Final = 2**31 - 1
_GONE: Final = frozenset({"deleting", "deleted"})


@dataclass(frozen=True)
class Attachment:
    """A volume plugged into an instance."""

    instance_id: str
    device: str
    state: str
    """attaching, attached, busy, detaching or detached."""


@dataclass(frozen=True)
class Volume:
    """A volume as EC2 describes it."""

    volume_id: str
    size_gib: int
    zone: str
    state: str
    volume_type: str
    iops: int
    throughput: int
    snapshot_id: str
    multi_attach: bool
    attachments: tuple[Attachment, ...]


@dataclass(frozen=True)
class VolumeRequest:
    """A volume to make; 0 and "" leave a choice to EC2."""

    size_gib: int
    zone: str
    volume_type: str
    iops: int = 0
    throughput: int = 0
    encrypted: bool = False
    kms_key_id: str = ""
    snapshot_id: str = ""
    multi_attach: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class VolumeChange:
    """What to change of a volume; 0 and "" leave it as it is."""

    size_gib: int = 0
    volume_type: str = ""
    iops: int = 0
    throughput: int = 0


def _volume(raw: VolumeTypeDef) -> Volume:
    attachments = tuple(
        Attachment(item.get("InstanceId", ""), item.get("Device", ""), str(item.get("State", "attached")))
        for item in raw.get("Attachments", [])
        if item.get("State") != "detached"
    )
    return Volume(
        volume_id=raw["VolumeId"],
        size_gib=int(raw["Size"]),
        zone=raw.get("AvailabilityZone", ""),
        state=str(raw.get("State", "")),
        volume_type=str(raw.get("VolumeType", "")),
        iops=int(raw.get("Iops") or 0),
        throughput=int(raw.get("Throughput") or 0),
        snapshot_id=raw.get("SnapshotId") or "",
        multi_attach=bool(raw.get("MultiAttachEnabled")),
        attachments=attachments,
    )


def _tag_list(tags: Mapping[str, str]) -> list[Any]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _token(name: str, number: int) -> str:
    text = name if number == 1 else f"{name}-{number}"
    return hashlib.sha256(text.encode()).hexdigest()


class Volumes:
    """The volumes of one account and region."""

    def __init__(self, ec2: Ec2) -> None:
        self._ec2 = ec2
        self._token_numbers: dict[str, int] = {}

    def get(self, volume_id: str) -> Volume:
        """One volume; CloudError NOT_FOUND when there is none of this id."""
        with translated():
            found = self._ec2.client.describe_volumes(VolumeIds=[volume_id])["Volumes"]
        if not found or found[0].get("State") in _GONE:
            raise CloudError(Kind.NOT_FOUND, f"volume {volume_id} does not exist")
        return _volume(found[0])

    def default_zone(self) -> str:
        """The region's first available zone by name: for a request that leaves the zone open."""
        with translated():
            zones = self._ec2.client.describe_availability_zones()["AvailabilityZones"]
        names = sorted(zone["ZoneName"] for zone in zones if zone.get("State", "available") == "available")
        if not names:
            raise CloudError(Kind.OTHER, "the region has no available zone")
        return names[0]

    def dry_run_zones(self) -> None:
        """Asks EC2 for nothing but whether it would answer; CloudError where it does not."""
        with dry_run(), translated():
            self._ec2.client.describe_availability_zones(DryRun=True)

    def dry_run_iops(self, wanted: VolumeRequest) -> None:
        """Has EC2 refuse more IOPS than any type has, for the limit in its words; no answer is fine."""
        with suppress(CloudError), translated():
            self._ec2.client.create_volume(
                DryRun=True,
                AvailabilityZone=wanted.zone,
                Size=wanted.size_gib,
                VolumeType=wanted.volume_type,  # type: ignore[arg-type]  # checked against the known types
                Iops=_TOO_MANY_IOPS,
                TagSpecifications=[{"ResourceType": "volume", "Tags": _tag_list({NAME_TAG: IOPS_DRY_RUN})}],
            )

    def create(self, name: str, wanted: VolumeRequest) -> Volume:
        """Makes the volume and waits until it is available; the same call again gives the same volume.

        EC2 refuses a token that came with other parameters: the next call for this name takes the next token.
        """
        number = self._token_numbers.get(name, 1)
        try:
            return self._wait_available(self._create(_token(name, number), wanted))
        except CloudError as error:
            if error.kind is Kind.ALREADY_EXISTS:
                self._token_numbers[name] = number + 1
            if wanted.snapshot_id and error.aws_code == "InvalidSnapshot.NotFound":
                raise CloudError(Kind.NO_SOURCE, "resource was not found", error.aws_code) from None
            raise

    def _create(self, token: str, wanted: VolumeRequest) -> str:
        optional: dict[str, Any] = {
            "Iops": wanted.iops,
            "Throughput": wanted.throughput,
            "KmsKeyId": wanted.kms_key_id,
            "SnapshotId": wanted.snapshot_id,
            "Encrypted": wanted.encrypted,
            "MultiAttachEnabled": wanted.multi_attach,
        }
        request = {key: value for key, value in optional.items() if value}
        if wanted.tags:
            request["TagSpecifications"] = [{"ResourceType": "volume", "Tags": _tag_list(wanted.tags)}]
        with translated():
            made = self._ec2.client.create_volume(
                AvailabilityZone=wanted.zone,
                Size=wanted.size_gib,
                VolumeType=wanted.volume_type,  # type: ignore[arg-type]  # checked against the known types
                ClientToken=token,
                **request,
            )
        return made["VolumeId"]

    def _wait_available(self, volume_id: str) -> Volume:
        visible_by = time.monotonic() + VISIBLE_TIMEOUT_S

        def look() -> Volume | None:
            try:
                volume = self.get(volume_id)
            except CloudError as error:
                if error.aws_code != "InvalidVolume.NotFound" or time.monotonic() >= visible_by:
                    raise
                return None
            if volume.state == "error":
                raise CloudError(Kind.OTHER, f"EC2 could not make volume {volume_id}: its state is error")
            return volume if volume.state in {"available", "in-use"} else None

        return until(look, timeout_s=CREATE_TIMEOUT_S, what=lambda: f"volume {volume_id} is not available yet")

    def delete(self, volume_id: str) -> None:
        """Deletes the volume; CloudError NOT_FOUND when there is none, IN_USE while it is attached."""
        with translated():
            self._ec2.client.delete_volume(VolumeId=volume_id)

    def tag(self, volume_id: str, tags: Mapping[str, str]) -> None:
        """Adds or overwrites tags."""
        with translated():
            self._ec2.client.create_tags(Resources=[volume_id], Tags=_tag_list(tags))

    def modify(self, volume_id: str, change: VolumeChange) -> Volume:
        """Change size, type or performance, wait until it is usable, and give the volume; never makes it smaller.

        A volume that is already as asked is left alone, save that a change still under way is waited for.
        """
        volume = self.get(volume_id)
        optional: dict[str, Any] = {
            "Size": change.size_gib if change.size_gib > volume.size_gib else 0,
            "VolumeType": change.volume_type if change.volume_type != volume.volume_type else "",
            "Iops": change.iops if change.iops != volume.iops else 0,
            "Throughput": change.throughput if change.throughput != volume.throughput else 0,
        }
        request = {key: value for key, value in optional.items() if value}
        if request:
            with translated():
                self._ec2.client.modify_volume(VolumeId=volume_id, **request)
        self._wait_modified(volume_id)
        return self.get(volume_id)

    def _wait_modified(self, volume_id: str) -> None:
        progress: list[str] = [""]

        def look() -> bool | None:
            state, message = self._modification(volume_id)
            progress[0] = state
            if state == "failed":
                raise CloudError(
                    Kind.OTHER, f"EC2 could not modify volume {volume_id}: {message or 'it gives no reason'}"
                )
            # "optimizing" may take hours, and the new size is there when it starts.
            return True if state in {"", "optimizing", "completed"} else None

        until(
            look,
            timeout_s=MODIFY_TIMEOUT_S,
            what=lambda: f"the modification of volume {volume_id} is still {progress[0]}",
        )

    def _modification(self, volume_id: str) -> tuple[str, str]:
        """State and message of the latest modification; empty when there was none."""
        try:
            with translated():
                answer = self._ec2.client.describe_volumes_modifications(VolumeIds=[volume_id])
        except CloudError as error:
            if error.aws_code == "InvalidVolumeModification.NotFound":
                return "", ""
            raise
        found = answer["VolumesModifications"]
        if not found:
            return "", ""
        latest = max(enumerate(found), key=lambda pair: (str(pair[1].get("StartTime", "")), pair[0]))[1]
        return str(latest.get("ModificationState", "")), latest.get("StatusMessage", "")
