"""csi.v1.Controller: snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.csi.errors import already_exists, given, invalid
from sandbox.standins.csi.inflight import InFlight
from sandbox.standins.ebs_csi_driver import capacity, tags
from sandbox.standins.ebs_csi_driver.cloud.errors import CloudError, Kind
from sandbox.standins.ebs_csi_driver.cloud.snapshots import Snapshot, Snapshots
from sandbox.standins.ebs_csi_driver.cloud_status import cloud
from sandbox.standins.ebs_csi_driver.parameters import read_snapshot_tags

LEAST_ENTRIES: Final = 5
"""EC2's least MaxResults."""


class SnapshotCalls:
    """The snapshot calls of the controller."""

    def __init__(self, extra_tags: Mapping[str, str], snapshots: Snapshots) -> None:
        self._snapshots = snapshots
        self._extra_tags = extra_tags
        self._snapshots_in_flight = InFlight()

    def create_snapshot(self, request: Any, _timeout_s: float | None) -> Any:
        """Starts a snapshot, or finds the one made for this name before."""
        name = given(request.name, "Snapshot name")
        volume_id = given(request.source_volume_id, "Snapshot volume source ID")
        asked_tags = read_snapshot_tags(request.parameters)
        with self._snapshots_in_flight.hold(name), cloud(f"Could not create snapshot {name!r}"):
            snapshot = self._snapshots.find_by_name(name)
            if snapshot is None:
                all_tags = tags.snapshot_tags(name, {**self._extra_tags, **asked_tags})
                snapshot = self._snapshots.create(volume_id, all_tags)
        if snapshot.volume_id != volume_id:
            raise already_exists(f"Snapshot {name} already exists for different volume ({snapshot.volume_id})")
        return csi.CreateSnapshotResponse(snapshot=_message(snapshot))

    def delete_snapshot(self, request: Any, _timeout_s: float | None) -> Any:
        """Deletes a snapshot; gone already is fine."""
        snapshot_id = given(request.snapshot_id, "Snapshot ID")
        with self._snapshots_in_flight.hold(snapshot_id), cloud(f"Could not delete snapshot ID {snapshot_id!r}"):
            try:
                self._snapshots.delete(snapshot_id)
            except CloudError as error:
                if error.kind is not Kind.NOT_FOUND:
                    raise
        return csi.DeleteSnapshotResponse()

    def list_snapshots(self, request: Any, _timeout_s: float | None) -> Any:
        """One snapshot, a volume's, or all of the account, in pages."""
        if 0 < request.max_entries < LEAST_ENTRIES:
            raise invalid(
                "Error mapping MaxEntries to AWS MaxResults: "
                f"maxResults parameter must be 0 or greater than or equal to {LEAST_ENTRIES}"
            )
        with cloud("Could not list snapshots"):
            found = self._find(request)
        page, next_token = paginate(found, request.starting_token, request.max_entries)
        entries = [csi.ListSnapshotsResponse.Entry(snapshot=_message(snapshot)) for snapshot in page]
        return csi.ListSnapshotsResponse(entries=entries, next_token=next_token)

    def _find(self, request: Any) -> list[Snapshot]:
        if not request.snapshot_id:
            return self._snapshots.list_all(request.source_volume_id)
        return [self._snapshots.get(request.snapshot_id)]


def paginate(found: list[Snapshot], token: str, max_entries: int) -> tuple[list[Snapshot], str]:
    """One page and the token of the next; a token is the id of the first snapshot of its page."""
    starts = [index for index, snapshot in enumerate(found) if snapshot.snapshot_id == token]
    start = starts[0] if starts else 0
    end = start + max_entries if max_entries > 0 else len(found)
    return found[start:end], found[end].snapshot_id if end < len(found) else ""


def _message(snapshot: Snapshot) -> Any:
    message = csi.Snapshot(
        snapshot_id=snapshot.snapshot_id,
        source_volume_id=snapshot.volume_id,
        size_bytes=snapshot.size_gib * capacity.GIB,
        ready_to_use=snapshot.ready,
    )
    message.creation_time.FromDatetime(snapshot.created)
    return message
