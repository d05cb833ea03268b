"""csi.v1.Controller over a store of folders or datasets: checks, idempotency, lists in pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar

import grpc

from sandbox.standins.csi import capabilities
from sandbox.standins.csi.commands import CommandError
from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.csi.errors import CsiError, aborted, already_exists, given, internal, invalid, not_found
from sandbox.standins.csi.inflight import InFlight
from sandbox.standins.csi.volume_store import Snapshot, Source, Store, Volume

DEFAULT_CAPACITY_BYTES: Final = 1024**3
T = TypeVar("T")


class Traits(Protocol):
    """What distinguishes one driver's volumes from another's."""

    capabilities: Sequence[str]
    """Names of the controller's capabilities."""
    node_expansion: bool
    """Whether the node has a part in growing a volume."""
    sized: bool
    """Whether volumes have a size: where it is not enforced, some drivers tell none and compare none."""

    def refusal(self, capability: Any) -> str:
        """Why a volume cannot be used so, empty where it can."""

    def check_parameters(self, parameters: Mapping[str, str]) -> None:
        """INVALID_ARGUMENT for parameters that mean nothing."""

    def context(self, volume: Volume) -> dict[str, str]:
        """The volume's context."""

    def topology(self) -> dict[str, str]:
        """Where a volume made here can be reached; empty: from everywhere."""


@contextmanager
def _doing(what: str) -> Iterator[None]:
    try:
        yield
    except (CommandError, OSError) as error:
        raise internal(f"{what}: {error}") from None


class VolumeController:
    """The controller's side of a plugin."""

    def __init__(self, store: Store, traits: Traits) -> None:
        self._store = store
        self._traits = traits
        self._in_flight = InFlight()

    def controller_get_capabilities(self, _request: Any, _timeout_s: float | None) -> Any:
        """What is implemented."""
        return capabilities.controller(self._traits.capabilities)

    def create_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Makes a volume, or finds the one made for this name before."""
        name = given(request.name, "Volume name")
        self._check_capabilities(request.volume_capabilities)
        self._traits.check_parameters(request.parameters)
        low, high = _range(request.capacity_range)
        source = _source(request)
        with self._in_flight.hold(name), _doing(f"Could not create volume {name!r}"):
            volumes = self._store.volumes()
            volume = next((one for one in volumes if one.name == name), None)
            if volume is None:
                volume = self._create(name, low, high, source, volumes)
            elif volume.source != source or not self._fits(volume, low, high):
                raise already_exists(
                    f"Volume {name!r} already exists with {volume.capacity_bytes} bytes, filled from "
                    f"{volume.source.id if volume.source else 'nothing'}"
                )
        return csi.CreateVolumeResponse(volume=self._message(volume))

    def _fits(self, volume: Volume, low: int, high: int) -> bool:
        return not self._traits.sized or (volume.capacity_bytes >= low and not 0 < high < volume.capacity_bytes)

    def _create(self, name: str, low: int, high: int, source: Source | None, volumes: list[Volume]) -> Volume:
        smallest = 0
        if source is not None and source.kind == "volume":
            smallest = _found(volumes, "volume_id", source.id, "volume").capacity_bytes
        elif source is not None:
            smallest = _found(self._store.snapshots(), "snapshot_id", source.id, "snapshot").size_bytes
        capacity = max(low or (min(DEFAULT_CAPACITY_BYTES, high) if high else DEFAULT_CAPACITY_BYTES), smallest)
        if high and capacity > high:
            raise CsiError(
                grpc.StatusCode.OUT_OF_RANGE, f"limit_bytes is {high}: the volume needs at least {capacity} bytes"
            )
        return self._store.create(name, capacity, source)

    def delete_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Deletes a volume; gone already is fine."""
        volume_id = given(request.volume_id, "Volume ID")
        with self._in_flight.hold(volume_id), _doing(f"Could not delete volume {volume_id!r}"):
            for volume in self._store.volumes():
                if volume.volume_id == volume_id:
                    self._store.delete(volume)
        return csi.DeleteVolumeResponse()

    def controller_expand_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Enlarges a volume; large enough already is fine."""
        self._offered("EXPAND_VOLUME")
        volume_id = given(request.volume_id, "Volume ID")
        if not request.HasField("capacity_range"):
            raise invalid("Capacity range not provided")
        low, _ = _range(request.capacity_range)
        with self._in_flight.hold(volume_id), _doing(f"Could not resize volume {volume_id!r}"):
            volume = _found(self._store.volumes(), "volume_id", volume_id, "volume")
            if low > volume.capacity_bytes:
                self._store.resize(volume, low)
        return csi.ControllerExpandVolumeResponse(
            capacity_bytes=max(low, volume.capacity_bytes) if self._traits.sized else 0,
            node_expansion_required=self._traits.node_expansion,
        )

    def validate_volume_capabilities(self, request: Any, _timeout_s: float | None) -> Any:
        """Confirms what is asked, or leaves the confirmation out."""
        volume_id = given(request.volume_id, "Volume ID")
        if not request.volume_capabilities:
            raise invalid("Volume capabilities not provided")
        with _doing(f"Could not look for volume {volume_id!r}"):
            _found(self._store.volumes(), "volume_id", volume_id, "volume")
        answer = csi.ValidateVolumeCapabilitiesResponse
        for capability in request.volume_capabilities:
            if reason := self._traits.refusal(capability):
                return answer(message=reason)
        return answer(
            confirmed=answer.Confirmed(
                volume_context=request.volume_context,
                volume_capabilities=request.volume_capabilities,
                parameters=request.parameters,
            )
        )

    def list_volumes(self, request: Any, _timeout_s: float | None) -> Any:
        """All volumes, in pages."""
        self._offered("LIST_VOLUMES")
        with _doing("Could not list volumes"):
            page, token = _page(self._store.volumes(), request)
        entries = [csi.ListVolumesResponse.Entry(volume=self._message(volume)) for volume in page]
        return csi.ListVolumesResponse(entries=entries, next_token=token)

    def get_capacity(self, _request: Any, _timeout_s: float | None) -> Any:
        """Room for further volumes."""
        self._offered("GET_CAPACITY")
        with _doing("Could not measure the room left"):
            return csi.GetCapacityResponse(available_capacity=self._store.available_bytes())

    def create_snapshot(self, request: Any, _timeout_s: float | None) -> Any:
        """Copies a volume, or finds the copy made for this name before."""
        name = given(request.name, "Snapshot name")
        volume_id = given(request.source_volume_id, "Snapshot volume source ID")
        with self._in_flight.hold(f"snapshot {name}"), _doing(f"Could not create snapshot {name!r}"):
            snapshot = next((one for one in self._store.snapshots() if one.name == name), None)
            if snapshot is None:
                volume = _found(self._store.volumes(), "volume_id", volume_id, "volume")
                snapshot = self._store.create_snapshot(name, volume)
        if snapshot.volume_id != volume_id:
            raise already_exists(f"Snapshot {name} already exists for different volume ({snapshot.volume_id})")
        return csi.CreateSnapshotResponse(snapshot=_snapshot_message(snapshot))

    def delete_snapshot(self, request: Any, _timeout_s: float | None) -> Any:
        """Deletes a snapshot; gone already is fine."""
        snapshot_id = given(request.snapshot_id, "Snapshot ID")
        with self._in_flight.hold(snapshot_id), _doing(f"Could not delete snapshot {snapshot_id!r}"):
            for snapshot in self._store.snapshots():
                if snapshot.snapshot_id == snapshot_id:
                    self._store.delete_snapshot(snapshot)
        return csi.DeleteSnapshotResponse()

    def list_snapshots(self, request: Any, _timeout_s: float | None) -> Any:
        """One snapshot, a volume's, or all, in pages; unknown ids give an empty list."""
        self._offered("LIST_SNAPSHOTS")
        with _doing("Could not list snapshots"):
            found = [
                one
                for one in self._store.snapshots()
                if request.snapshot_id in {"", one.snapshot_id} and request.source_volume_id in {"", one.volume_id}
            ]
        page, token = _page(found, request)
        entries = [csi.ListSnapshotsResponse.Entry(snapshot=_snapshot_message(one)) for one in page]
        return csi.ListSnapshotsResponse(entries=entries, next_token=token)

    def _offered(self, capability: str) -> None:
        if capability not in self._traits.capabilities:
            raise CsiError(grpc.StatusCode.UNIMPLEMENTED, "operation not supported by driver")

    def _check_capabilities(self, asked: Any) -> None:
        if not asked:
            raise invalid("Volume capabilities not provided")
        for capability in asked:
            if reason := self._traits.refusal(capability):
                raise invalid(f"Volume capability not supported: {reason}")

    def _message(self, volume: Volume) -> Any:
        content = csi.VolumeContentSource
        source = None
        if volume.source is not None and volume.source.kind == "snapshot":
            source = content(snapshot=content.SnapshotSource(snapshot_id=volume.source.id))
        elif volume.source is not None:
            source = content(volume=content.VolumeSource(volume_id=volume.source.id))
        segments = self._traits.topology()
        return csi.Volume(
            volume_id=volume.volume_id,
            capacity_bytes=volume.capacity_bytes if self._traits.sized else 0,
            volume_context=self._traits.context(volume),
            content_source=source,
            accessible_topology=[csi.Topology(segments=segments)] if segments else [],
        )


def _range(asked: Any) -> tuple[int, int]:
    low, high = asked.required_bytes, asked.limit_bytes
    if low < 0 or high < 0:
        raise invalid("required_bytes and limit_bytes cannot be negative")
    if high and low > high:
        raise CsiError(grpc.StatusCode.OUT_OF_RANGE, f"required_bytes {low} is more than limit_bytes {high}")
    return low, high


def _source(request: Any) -> Source | None:
    if not request.HasField("volume_content_source"):
        return None
    source = request.volume_content_source
    if source.WhichOneof("type") == "snapshot":
        return Source("snapshot", given(source.snapshot.snapshot_id, "Source snapshot ID"))
    return Source("volume", given(source.volume.volume_id, "Source volume ID"))


def _found(items: Sequence[T], field: str, wanted: str, what: str) -> T:
    for item in items:
        if getattr(item, field) == wanted:
            return item
    raise not_found(f"There is no {what} {wanted!r}")


def _page(items: list[T], request: Any) -> tuple[list[T], str]:
    """One page and the token of the next: the place of its first item."""
    if request.max_entries < 0:
        raise invalid(f"max_entries is {request.max_entries}: it cannot be negative")
    start = 0
    if token := request.starting_token:
        if not token.isdecimal() or int(token) > len(items):
            raise aborted(f"starting_token {token!r} is not valid: list from the start again")
        start = int(token)
    end = start + request.max_entries if request.max_entries else len(items)
    return items[start:end], str(end) if end < len(items) else ""


def _snapshot_message(snapshot: Snapshot) -> Any:
    message = csi.Snapshot(
        snapshot_id=snapshot.snapshot_id,
        source_volume_id=snapshot.volume_id,
        size_bytes=snapshot.size_bytes,
        ready_to_use=True,
    )
    message.creation_time.FromNanoseconds(int(snapshot.created * 1e9))
    return message
