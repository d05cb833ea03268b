"""EBS volumes as EC2 has them, in one account and region, and the instances that they are attached to."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.ec2_client import AwsPlace, ec2_client, ec2_errors, prove_absence
from nomad_stateful.ebs.filters import Filters, described, in_batches
from nomad_stateful.ebs.tags import GIVEN_UP_TAG, GUARD_TAG, LEFT_TAG, SNAPSHOTS_TAG, STACK_TAG

_GONE = frozenset({"deleting", "deleted", "not-found"})


def is_ebs_volume(external_id: str) -> bool:
    """Returns whether a storage provider's id is that of an EBS volume."""
    return external_id.startswith("vol-")


@dataclass(frozen=True)
class Attachment:
    """A volume's attachment to one instance."""

    instance_id: str
    device: str
    state: str  # attaching, attached, detaching, busy
    since: str = ""
    """When it began, in UTC; empty where EC2 does not say."""

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Attachment:
        """Returns an attachment by EC2's description of it."""
        began = described.get("AttachTime")
        since = began.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if began else ""
        return cls(described.get("InstanceId", "?"), described.get("Device", "?"), described.get("State", "?"), since)

    def __str__(self) -> str:
        since = f" since {self.since}" if self.since else ""
        return f"{self.instance_id} as {self.device} ({self.state}{since})"


@dataclass(frozen=True)
class Volume:
    """A volume as EC2 has it."""

    id: str
    state: str  # creating, available, in-use, error, deleting, deleted; `not-found` by EbsVolumes.state alone
    attachments: Sequence[Attachment] = ()
    zone: str = ""
    size_gib: int = 0
    type: str = ""
    iops: int | None = None
    throughput_mibps: int | None = None
    encrypted: bool = False
    kms_key_id: str | None = None
    multi_attach: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Volume:
        """Returns a volume by EC2's description of it."""
        return cls(
            id=described["VolumeId"],
            state=described["State"],
            attachments=[Attachment.of(one) for one in described.get("Attachments") or []],
            zone=described["AvailabilityZone"],
            size_gib=described["Size"],
            type=described["VolumeType"],
            iops=described.get("Iops"),
            throughput_mibps=described.get("Throughput"),
            encrypted=bool(described.get("Encrypted")),
            kms_key_id=described.get("KmsKeyId"),
            multi_attach=bool(described.get("MultiAttachEnabled")),
            tags=tags.read(described),
        )

    @property
    def exists(self) -> bool:
        """Whether it is neither deleted nor about to be."""
        return self.state not in _GONE

    @property
    def is_free(self) -> bool:
        """Whether nothing has it attached, and nothing will."""
        return self.state == "available" or not self.exists

    @property
    def given_up(self) -> str:
        """When an operator gave it up, because its zone is lost: nothing waits for it any more.

        "" if nobody did, or an instance got it since: the zone is back.
        """
        when = self.tags.get(GIVEN_UP_TAG, "")
        return "" if any(one.since > when for one in self.attachments) else when

    def __str__(self) -> str:
        return f"attached to {', '.join(map(str, self.attachments))}" if self.attachments else self.state


class EbsVolumes:
    """EC2's volumes and instances, in one account and region.

    Each question raises Ec2Unavailable for a transient error, ProviderError for any other; "not found" counts only in
    the volume's own account.
    """

    def __init__(self, place: AwsPlace) -> None:
        self._place = place
        self._client: Any = ec2_client(place)

    def state(self, volume_id: str) -> Volume:
        """Returns a volume as it is now; with the state `not-found` where there is none."""
        found = self._matching(volume_id, [[{"Name": "volume-id", "Values": [volume_id]}]])
        if not found:
            prove_absence(self._place, f"volume {volume_id}")
        return found[0] if found else Volume(volume_id, "not-found")

    def find(self, volume_id: str) -> Volume | None:
        """Returns a volume; None where it is deleted, or about to be."""
        found = self.state(volume_id)
        return found if found.exists else None

    def guarded_by(self, guard_id: str) -> Volume | None:
        """Returns the volume of a VolumeGuard; None where there is none."""
        # By the filter alone: where the tags shown lag behind it, "there is none" would be the unsafe answer.
        found = self._found_by_tags(f"a volume of guard {guard_id}", {GUARD_TAG: guard_id})
        if not found:
            prove_absence(self._place, f"a volume of guard {guard_id}")
        # Of a creation that failed there may be another one.
        return min(found, key=lambda one: one.state == "error", default=None)

    def tagged(self, wanted: Mapping[str, str]) -> list[Volume]:
        """Returns the volumes that exist and have all of these tags."""
        # A filter's tags are eventually right: what has these is meant.
        return [one for one in self._found_by_tags("volumes", wanted) if wanted.items() <= one.tags.items()]

    def _found_by_tags(self, what: str, wanted: Mapping[str, str]) -> list[Volume]:
        filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in wanted.items()]
        return [one for one in self._matching(what, [filters]) if one.exists]

    def named(self, volume_ids: Iterable[str]) -> dict[str, Volume]:
        """Returns those of these volumes that EC2 has, by id."""
        # A filter, unlike ids, is not refused where one of them is gone.
        return {one.id: one for one in self._matching("volumes", in_batches("volume-id", volume_ids))}

    def attached_to(self, instance_id: str) -> list[str]:
        """Returns the ids of the volumes attached to an instance, its root volume too."""
        filters = [{"Name": "attachment.instance-id", "Values": [instance_id]}]
        return sorted(one.id for one in self._matching(f"the volumes of {instance_id}", [filters]))

    def _matching(self, what: str, calls: Iterable[Filters]) -> list[Volume]:
        with ec2_errors(f"describe {what}"):
            return [Volume.of(one) for one in described(self._client, "Volumes", calls)]

    def instance_states(self, instance_ids: Sequence[str]) -> dict[str, str]:
        """Returns the state of each instance now; `not-found` where EC2 no longer has it."""
        with ec2_errors(f"say whether {', '.join(instance_ids)} runs"):
            # A filter, unlike ids, is not refused when one of them is gone.
            listed = described(self._client, "Instances", in_batches("instance-id", instance_ids))
        found = {one["InstanceId"]: one["State"]["Name"] for one in listed}
        if missing := [instance_id for instance_id in instance_ids if instance_id not in found]:
            prove_absence(self._place, f"instance {', '.join(missing)}")
        return {instance_id: found.get(instance_id, "not-found") for instance_id in instance_ids}

    def stop_instances(self, instance_ids: Sequence[str]) -> None:
        """Has EC2 shut instances down, which keeps their volumes."""
        with ec2_errors(f"stop {', '.join(instance_ids)}"):
            self._client.stop_instances(InstanceIds=list(instance_ids))

    def refuse_unreadable(self) -> None:
        """Raises ProviderError where the credentials may not read instances or volumes."""
        with ec2_errors("describe instances and volumes"):
            self._client.describe_instances(MaxResults=5)
            self._client.describe_volumes(MaxResults=5)

    def detach(self, volume_id: str, instance_id: str) -> None:
        """Asks EC2 to detach the volume, without force: it waits for an unmount."""
        command = f"aws ec2 detach-volume --volume-id {volume_id} --instance-id {instance_id}"
        allowed = f", or run `{command}` with credentials that may"
        with ec2_errors(f"detach {volume_id} from {instance_id}", allowed):
            self._client.detach_volume(VolumeId=volume_id, InstanceId=instance_id)

    def create_like(
        self, live: Volume | None, zone: str, own: Mapping[str, str], *, snapshot_id: str = "", size_gib: int = 0
    ) -> str:
        """Begins a volume in a zone, from a snapshot or an empty one of that size, and returns its id.

        It has tags of its own, and type and performance of a live one: gp3's own where that is None. An empty one is
        encrypted as the live one is.
        """
        wanted: dict[str, Any] = {"SnapshotId": snapshot_id} if snapshot_id else {"Size": size_gib}
        wanted["VolumeType"] = live.type if live else "gp3"
        if live and live.encrypted and not snapshot_id:
            wanted |= {"Encrypted": True, "KmsKeyId": live.kms_key_id}
        if live and live.iops and live.type in ("gp3", "io1", "io2"):
            wanted["Iops"] = live.iops
        if live and live.throughput_mibps and live.type == "gp3":
            wanted["Throughput"] = live.throughput_mibps
        with ec2_errors("make a volume", " and ec2:CreateTags"):
            made = self._client.create_volume(
                AvailabilityZone=zone,
                ClientToken=secrets.token_hex(16),
                TagSpecifications=[{"ResourceType": "volume", "Tags": tags.listed(own)}],
                **wanted,
            )
        return str(made["VolumeId"])

    def delete(self, volume_id: str) -> None:
        """Deletes a volume that nothing has attached."""
        with ec2_errors(f"delete {volume_id}"):
            self._client.delete_volume(VolumeId=volume_id)

    def modification(self, volume_id: str) -> str:
        """Returns how its last change is: modifying, optimizing, completed or failed; "" where it never was changed."""
        from botocore.exceptions import ClientError

        with ec2_errors(f"say how far the change of {volume_id} is"):
            try:
                found = self._client.describe_volumes_modifications(VolumeIds=[volume_id])["VolumesModifications"]
            except ClientError as error:
                if error.response["Error"]["Code"] != "InvalidVolumeModification.NotFound":
                    raise
                found = []
        newest = max(found, key=lambda one: one["StartTime"], default={"ModificationState": ""})
        return str(newest["ModificationState"])

    def tag(self, volume_id: str, wanted: Mapping[str, str]) -> None:
        """Gives a volume tags, beside those that it has."""
        with ec2_errors(f"tag {volume_id}"):
            self._client.create_tags(Resources=[volume_id], Tags=tags.listed(wanted))

    def leave(self, volume_id: str, name: str) -> None:
        """Takes the stack's tags off a volume that stays in AWS, and notes whose it was."""
        found = self.find(volume_id)
        if found is None:
            return
        if stack := found.tags.get(STACK_TAG):
            self.tag(volume_id, {LEFT_TAG: f"{stack}/{name}"})
        # Nothing may adopt it, nor take its snapshots on schedule, beside the volume that took its place.
        with ec2_errors(f"take tags off {volume_id}"):
            self._client.delete_tags(Resources=[volume_id], Tags=[{"Key": STACK_TAG}, {"Key": SNAPSHOTS_TAG}])
