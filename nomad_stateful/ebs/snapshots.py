"""EBS snapshots as EC2 has them, in one account and region: of which volume, complete or not, and the newest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.ec2_client import AwsPlace, Ec2Unavailable, ec2_client, ec2_errors, refuse_another_account
from nomad_stateful.ebs.filters import Filters, described, in_batches
from nomad_stateful.ebs.tags import AS_OF_TAG, FINAL_TAG, RESTORED_TAG, STACK_TAG
from nomad_stateful.errors import ProviderError
from nomad_stateful.waiting import Pending, Progress, RetryPolicy, Stopwatch

POLL_S = 0.5
_UNLISTED_S = 60.0
"""For how long EC2 may not list a snapshot that it has."""
_TOO_SOON = frozenset({"SnapshotCreationPerVolumeRateExceeded", "ConcurrentSnapshotLimitExceeded"})
_TOO_SOON_S = 20.0
"""Writes may be held meanwhile."""
_ANOTHER = "Run the same command again: it takes another"


@dataclass(frozen=True)
class Snapshot:
    """A snapshot as EC2 has it."""

    id: str
    volume_id: str
    """The EBS volume that it was taken of, which may be gone; of a copy it says nothing."""
    state: str  # pending, completed, error
    started: datetime
    """When it was begun, in UTC: its contents are fixed from then on."""
    size_gib: int = 0
    progress: str = "0%"
    why: str = ""
    """Why it failed, as far as EC2 says."""
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Snapshot:
        """Returns a snapshot by EC2's description of it."""
        return cls(
            id=described["SnapshotId"],
            volume_id=described["VolumeId"],
            state=described["State"],
            started=described["StartTime"].astimezone(UTC),
            size_gib=described["VolumeSize"],
            progress=described.get("Progress") or "0%",
            why=described.get("StateMessage") or "",
            description=described.get("Description") or "",
            tags=tags.read(described),
        )

    @property
    def is_complete(self) -> bool:
        """Whether EC2 has copied all of it."""
        return self.state == "completed"

    @property
    def source(self) -> str:
        """The id of the EBS volume whose data it has: one of a point in time is taken of a scratch volume."""
        return self.tags.get(RESTORED_TAG) or self.volume_id

    @property
    def taken(self) -> datetime:
        """Until when it has what was written, in UTC: its point in time, else when it was begun."""
        moment = self.tags.get(AS_OF_TAG)
        return datetime.fromisoformat(moment).astimezone(UTC) if moment else self.started

    @property
    def stack(self) -> str:
        """The PROJECT/STACK that it is of by its tags; "" where they do not say."""
        return tags.stack_of(self.tags)

    def is_of(self, volume_id: str, made_from: str) -> bool:
        """Returns whether it has data of this EBS volume, or is the one that it was made from ("" if from none)."""
        return self.source == volume_id or (bool(made_from) and self.id == made_from)


def newest(snapshots: Iterable[Snapshot], before: datetime | None = None) -> Snapshot | None:
    """Returns the complete one with the newest data, of those without any of after a time."""
    wanted = (one for one in snapshots if one.is_complete and (before is None or one.taken <= before))
    return max(wanted, key=lambda one: one.taken, default=None)


def newest_by_volume(snapshots: Iterable[Snapshot]) -> dict[str, Snapshot]:
    """Returns the newest complete one of each EBS volume that has one, by the volume's id."""
    complete = (one for one in snapshots if one.is_complete)
    return {one.volume_id: one for one in sorted(complete, key=lambda one: one.taken)}


class EbsSnapshots:
    """The account's snapshots in one region.

    Each question raises Ec2Unavailable for a transient error, ProviderError for any other; "not found" counts only in
    the snapshot's own account.
    """

    def __init__(self, place: AwsPlace) -> None:
        self._place = place
        self._client: Any = ec2_client(place)

    def find(self, snapshot_id: str) -> Snapshot | None:
        """Returns a snapshot, which another account may share; None where there is none."""
        from botocore.exceptions import ClientError

        with ec2_errors(f"describe snapshot {snapshot_id}"):
            try:
                found = self._described([[]], SnapshotIds=[snapshot_id])
            except ClientError as error:
                if error.response["Error"]["Code"] != "InvalidSnapshot.NotFound":
                    raise
                found = []
        if not found:
            refuse_another_account(self._place, f"snapshot {snapshot_id}")
        return found[0] if found else None

    def of_volume(self, volume_id: str, made_from: str = "") -> list[Snapshot]:
        """Returns the snapshots of an EBS volume's data, and the one that it was made from ("" if from none).

        That one is all there is until the first is taken of the volume itself.
        """
        found = self.of_volumes([volume_id])
        if made_from:
            found += self.matching([[{"Name": "snapshot-id", "Values": [made_from]}]])
        return [one for one in found if one.is_of(volume_id, made_from)]

    def of_volumes(self, volume_ids: Iterable[str]) -> list[Snapshot]:
        """Returns the snapshots that were taken of these EBS volumes."""
        return self.matching(in_batches("volume-id", volume_ids))

    def of_name(self, name: str, stack: str) -> list[Snapshot]:
        """Returns the snapshots of the EBS volumes that ever had a name in a stack (PROJECT/STACK)."""
        named = {"Name": "tag:Name", "Values": [name]}
        return self.matching([[named, {"Name": f"tag:{STACK_TAG}", "Values": [stack]}]])

    def final_of(self, volume_id: str) -> list[Snapshot]:
        """Returns those of a volume's earlier deletions that did not fail; it may have been written to since."""
        found = self.matching([[{"Name": f"tag:{FINAL_TAG}", "Values": [volume_id]}]])
        return [one for one in found if one.state != "error"]

    def matching(self, calls: Iterable[Filters]) -> list[Snapshot]:
        """Returns the account's own snapshots that match the filters of any of the calls."""
        # Without an owner EC2 looks through every snapshot that the account may use, public ones too.
        with ec2_errors("describe snapshots"):
            return self._described(calls, OwnerIds=["self"])

    def _listed(self, snapshot_id: str) -> Snapshot | None:
        """Returns one of the account's own; None where EC2 does not list it, which may be about to."""
        return next(iter(self.matching([[{"Name": "snapshot-id", "Values": [snapshot_id]}]])), None)

    def _described(self, calls: Iterable[Filters], **more: Any) -> list[Snapshot]:
        return [Snapshot.of(one) for one in described(self._client, "Snapshots", calls, **more)]

    def refuse_unpermitted(self, volume_id: str) -> None:
        """Raises ProviderError where EC2 says that it would take no snapshot of a volume."""
        from botocore.exceptions import ClientError

        with ec2_errors(f"take a snapshot of {volume_id}"):
            try:
                self._client.create_snapshot(VolumeId=volume_id, DryRun=True)
            except ClientError as error:
                if error.response["Error"]["Code"] != "DryRunOperation":
                    raise

    def begin(self, volume_id: str, description: str, own: Mapping[str, str]) -> str:
        """Begins a snapshot with tags and returns its id: from then on its contents are fixed.

        EC2 begins one of a volume every 15 s, and has few of it pending: that is waited for.
        """
        from botocore.exceptions import ClientError

        attempts = RetryPolicy(_TOO_SOON_S).attempts()
        with ec2_errors(f"take a snapshot of {volume_id}", " and ec2:CreateTags"):
            while True:
                try:
                    made = self._client.create_snapshot(
                        VolumeId=volume_id,
                        Description=description,
                        TagSpecifications=[{"ResourceType": "snapshot", "Tags": tags.listed(own)}],
                    )
                except ClientError as error:
                    if error.response["Error"]["Code"] not in _TOO_SOON or not attempts.another():
                        raise
                else:
                    return str(made["SnapshotId"])

    def delete(self, snapshot_id: str) -> None:
        """Deletes a snapshot."""
        with ec2_errors(f"delete {snapshot_id}"):
            self._client.delete_snapshot(SnapshotId=snapshot_id)

    def await_complete(self, progress: Progress, snapshot_id: str, remedy: str, which: str = "snapshot") -> None:
        """Waits until EC2 has copied the whole snapshot, within the progress's time; transient errors pass.

        Raises ProviderError where EC2 gives it up, and with the remedy where it takes longer.
        """
        copied, passing, listed = "0%", "", Stopwatch()

        def look() -> Snapshot | Pending:
            nonlocal copied, passing
            try:
                found, passing = progress.ctx.call(lambda: self._listed(snapshot_id)), ""
            except Ec2Unavailable as error:
                found, passing = None, f"; {error}"
            if found is not None or passing:
                listed.restart()
            # One that was begun just now may not be listed yet.
            elif listed.seconds > _UNLISTED_S:
                raise ProviderError(f"{which} {snapshot_id} is gone: EC2 does not list it. {_ANOTHER}")
            if found is not None and found.state == "error":
                raise ProviderError(f"{which} {snapshot_id} failed: {found.why or 'EC2 gives no reason'}. {_ANOTHER}")
            if found is not None and found.is_complete:
                return found
            copied = found.progress if found else copied
            return Pending(f"waiting for {which} {snapshot_id}: {copied} copied{passing}")

        if isinstance(progress.wait(look, POLL_S), Pending):
            late = f"{which} {snapshot_id} is not complete after {progress.limit_s:.0f} s"
            raise ProviderError(f"{late} ({copied} copied{passing}). {remedy}")
