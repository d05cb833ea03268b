"""Faults of EBS itself: a volume not described yet, a slow change or detachment, a failed snapshot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final

from sandbox.cloud.ebs import FORCE, INTERNAL, Original
from sandbox.cloud.faults import Fault, Faults
from sandbox.machine.errors import ApiError

_POLL_S: Final = 0.2
_MODIFIED: Final = ("size", "volume_type", "iops", "throughput")


class VolumeFaults:
    """Stands around the methods of the volumes' backend, which are handed in as `original`."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._hidden: dict[str, tuple[Fault, float]] = {}
        self._lock = threading.Lock()
        self._detaching: set[str] = set()
        self._modifying: set[str] = set()

    def create_volume(self, original: Original, backend: Any, *args: Any, **kwargs: Any) -> Any:
        """CreateVolume: the volume may be hidden from DescribeVolumes for a while."""
        volume = original(backend, *args, **kwargs)
        if not INTERNAL.get() and (fault := self._faults.strike_volume("invisible")):
            with self._lock:
                # The same request once more, with its token, is the same volume, as old as it was.
                self._hidden.setdefault(volume.id, (fault, time.monotonic() + fault.seconds))
        return volume

    def describe_volumes(
        self, original: Original, backend: Any, volume_ids: list[str] | None = None, filters: Any = None
    ) -> Any:
        """DescribeVolumes: a hidden volume is not found, and not listed."""
        for volume_id in volume_ids or []:
            if self._is_hidden(volume_id):
                raise ApiError("InvalidVolume.NotFound", f"The volume '{volume_id}' does not exist.")
        return [item for item in original(backend, volume_ids, filters) if not self._is_hidden(item.id)]

    def modify_volume(self, original: Original, backend: Any, volume_id: str, *target: Any) -> Any:
        """ModifyVolume: the volume may be described as it was for a while, and is modifying until then."""
        volume = backend.get_volume(volume_id)
        if volume_id in self._modifying:
            message = f"Volume {volume_id} in state modifying, may not be modified"
            raise ApiError("IncorrectModificationState", message)
        before = {name: getattr(volume, name) for name in _MODIFIED}
        original(backend, volume_id, *target)
        if any(target) and (fault := self._faults.strike_volume("modifying")):
            after = {name: getattr(volume, name) for name in _MODIFIED}
            vars(volume).update(before)
            volume.modifications[-1].still = "modifying"
            self._modifying.add(volume_id)
            ending = (volume, after, fault)
            threading.Thread(target=self._modified_later, args=ending, daemon=True).start()
        return volume

    def _modified_later(self, volume: Any, after: dict[str, Any], fault: Fault) -> None:
        self._wait_out(fault)
        vars(volume).update(after)
        volume.modifications[-1].still = "optimizing"
        self._modifying.discard(volume.id)

    def attach_volume(self, original: Original, backend: Any, volume_id: str, *where: Any) -> Any:
        """AttachVolume: refused while the volume is modifying."""
        if volume_id in self._modifying:
            message = f"Cannot attach volume {volume_id} when it is in modification state: MODIFYING"
            raise ApiError("OperationNotPermitted", message)
        return original(backend, volume_id, *where)

    def detach_volume(
        self, original: Original, backend: Any, volume_id: str, instance_id: str | None, device_path: str | None
    ) -> Any:
        """DetachVolume: the volume may stay `detaching`; Force ends that."""
        if INTERNAL.get() or FORCE.get():
            return original(backend, volume_id, instance_id, device_path)
        attachment = backend.get_volume(volume_id).attachment
        if attachment is None:
            return original(backend, volume_id, instance_id, device_path)
        with self._lock:
            if volume_id in self._detaching:
                return attachment
            fault = self._faults.strike_volume("detach")
            if fault is not None:
                self._detaching.add(volume_id)
        if fault is None:
            return original(backend, volume_id, instance_id, device_path)
        attachment.status = "detaching"
        attachment.instance.block_device_mapping[attachment.device].status = "detaching"
        ending = (original, backend, attachment, fault)
        threading.Thread(target=self._detach_later, args=ending, daemon=True).start()
        return attachment

    def _detach_later(self, original: Original, backend: Any, attachment: Any, fault: Fault) -> None:
        volume_id = attachment.volume.id
        self._wait_out(fault, lambda: attachment.volume.attachment is not attachment)
        with self._lock:
            self._detaching.discard(volume_id)
        if attachment.volume.attachment is attachment:
            original(backend, volume_id, attachment.instance.id, attachment.device)

    def _wait_out(self, fault: Fault, is_over: Callable[[], bool] = lambda: False) -> None:
        """Returns once the fault's seconds are over, with 0 once it is switched off, or what it holds up is over."""
        ends = time.monotonic() + fault.seconds
        while self._faults.holds(fault) and (not fault.seconds or time.monotonic() < ends) and not is_over():
            time.sleep(_POLL_S)

    def create_snapshot(self, original: Original, backend: Any, *args: Any, **kwargs: Any) -> Any:
        """CreateSnapshot: the snapshot may end in `error`, as with a key that cannot be used."""
        snapshot = original(backend, *args, **kwargs)
        if self._faults.strike_volume("snapshot"):
            snapshot.status, snapshot.state_message = "error", "Given key ID is not accessible"
        return snapshot

    def _is_hidden(self, volume_id: str) -> bool:
        with self._lock:
            fault, ends = self._hidden.get(volume_id, (None, 0.0))
            if fault is None:
                return False
            if self._faults.holds(fault) and time.monotonic() < ends:
                return True
            del self._hidden[volume_id]
            return False
