"""EBS as EC2 behaves, where moto only keeps records: rules, real bytes, devices, and detaching that can be busy."""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

from sandbox.cloud import account_limits, limits
from sandbox.cloud.idempotency import Tokens
from sandbox.cloud.moto_facts import data_volumes
from sandbox.machine import naming
from sandbox.machine.errors import ApiError
from sandbox.machine.hypervisor import Hypervisor
from sandbox.machine.volumes import VolumeStore

LOG: Final = logging.getLogger(__name__)

FORCE: Final[ContextVar[bool]] = ContextVar("force", default=False)
"""Whether the request in hand has Force=true."""

INTERNAL: Final[ContextVar[bool]] = ContextVar("internal", default=False)
"""Set while moto itself makes and takes away volumes, as it launches or terminates an instance."""

# A Nitro instance has 28 attachments, one of them its network interface and one its root volume.
_MAX_DATA_VOLUMES: Final = 26
_BUSY_POLL_S: Final = 0.2

Original = Callable[..., Any]


class ElasticBlockStore:
    """Stands around moto's own methods, which are handed in as `original`."""

    def __init__(self, hypervisor: Hypervisor, store: VolumeStore, *, limit_modifications: bool = False) -> None:
        self._hypervisor = hypervisor
        self._store = store
        self._lock = threading.RLock()
        self._tokens = Tokens()
        self._limit_modifications = limit_modifications
        self._modified: dict[str, list[float]] = {}

    def create_volume(self, original: Original, backend: Any, size: Any, zone_name: str, **kwargs: Any) -> Any:
        """CreateVolume: the size and performance are checked, the token is honoured, the bytes are made."""
        snapshot_id = kwargs.get("snapshot_id")
        if INTERNAL.get():
            # Root volumes and images: nothing ever reads their bytes. Other volumes of a launch get theirs at boot.
            volume = original(backend, size=size, zone_name=zone_name, **kwargs)
            if snapshot_id:
                self._store.copy(snapshot_id, volume.id)
            return volume
        make = partial(self._create, original, backend, size, zone_name, kwargs)
        return self._tokens.once(make, lambda made: made.id in backend.volumes)

    def delete_volume(self, original: Original, backend: Any, volume_id: str) -> Any:
        """DeleteVolume: refused while attached (moto does); the bytes are freed, and the tags go."""
        with self._lock:
            volume = original(backend, volume_id)
            self._store.remove(volume_id)
            backend.tags.pop(volume_id, None)
        if not INTERNAL.get():
            LOG.info("%s deleted", volume_id)
        return volume

    def modify_volume(self, original: Original, backend: Any, volume_id: str, *target: Any) -> Any:
        """ModifyVolume: never smaller, within the type's limits; an attached disk grows where it is."""
        size, volume_type, iops, throughput, multi_attach = (*target, *[None] * 5)[:5]
        with self._lock:
            volume = backend.get_volume(volume_id)
            if not any((size, volume_type, iops, throughput, multi_attach)):
                return original(backend, volume_id)
            new_type, new_size = volume_type or volume.volume_type, int(size or volume.size)
            limits.check_growth(volume.size, new_size)
            others = [one for one in backend.volumes.values() if one is not volume]
            account_limits.check_quota(others, new_type, new_size)
            modified = self._modified.setdefault(volume_id, [])
            if self._limit_modifications:
                account_limits.check_modifications(modified, time.monotonic())
            if new_type == volume.volume_type and new_type != "gp2":
                iops, throughput = iops or volume.iops, throughput or volume.throughput
            performance = limits.check_volume(new_type, new_size, iops, throughput)
            self._hypervisor.grow(volume_id, new_size)
            original(
                backend, volume_id, new_size, new_type, performance.iops, performance.throughput_mibs, multi_attach
            )
            volume.iops, volume.throughput = performance.iops, performance.throughput_mibs
            modified.append(time.monotonic())
        LOG.info("%s modified: %d GiB %s", volume_id, new_size, new_type)
        return volume

    def create_snapshot(self, original: Original, backend: Any, volume_id: str, *args: Any, **kwargs: Any) -> Any:
        """CreateSnapshot: a copy of the volume's bytes as they are now."""
        snapshot = original(backend, volume_id, *args, **kwargs)
        # moto's snapshot looks at the living volume, which may grow.
        snapshot.volume = copy.copy(snapshot.volume)
        self._hypervisor.snapshot(volume_id, snapshot.id)
        return snapshot

    def copy_snapshot(self, original: Original, backend: Any, source_snapshot_id: str, **kwargs: Any) -> Any:
        """CopySnapshot: the bytes too."""
        snapshot = original(backend, source_snapshot_id=source_snapshot_id, **kwargs)
        self._store.copy(source_snapshot_id, snapshot.id)
        return snapshot

    def delete_snapshot(self, original: Original, backend: Any, snapshot_id: str) -> Any:
        """DeleteSnapshot: the bytes are freed."""
        snapshot = original(backend, snapshot_id)
        self._store.remove(snapshot_id)
        return snapshot

    def attach_volume(
        self, original: Original, backend: Any, volume_id: str, instance_id: str, device_path: str, *args: Any
    ) -> Any:
        """AttachVolume: the device is in the instance before the answer is sent."""
        if INTERNAL.get():
            attachment = original(backend, volume_id, instance_id, device_path, *args)
            attachment.delete_on_termination = bool(args and args[0])
            return attachment
        with self._lock:
            volume, instance = backend.get_volume(volume_id), backend.get_instance(instance_id)
            _check_attachable(volume, instance, device_path)
            # An instance that boots meanwhile must either get the disk now or find it in its records.
            with self._hypervisor.power(instance_id):
                if self._hypervisor.is_alive(instance_id):
                    self._hypervisor.plug(instance_id, volume_id, volume.size)
                attachment = original(backend, volume_id, instance_id, device_path)
            attachment.delete_on_termination = False
        LOG.info("%s attached to %s as %s", volume_id, instance_id, device_path)
        return attachment

    def detach_volume(
        self, original: Original, backend: Any, volume_id: str, instance_id: str | None, device_path: str | None
    ) -> Any:
        """DetachVolume: at once when nothing is mounted, else when it is unmounted; Force takes it away."""
        if INTERNAL.get():
            return original(backend, volume_id, instance_id, device_path)
        with self._lock:
            attachment = _attachment_to_end(backend.get_volume(volume_id), instance_id, device_path)
        if FORCE.get():
            self._hypervisor.tear_off(volume_id)
        with self._lock:
            if not self._hypervisor.is_busy(volume_id):
                return self._finish(original, backend, attachment)
            if attachment.status != "busy":
                attachment.status = "busy"
                attachment.instance.block_device_mapping[attachment.device].status = "detaching"
                watcher = threading.Thread(
                    target=self._await_unmount, args=(original, backend, attachment), daemon=True
                )
                watcher.start()
                places = ", ".join(self._hypervisor.mounted_at(volume_id))
                LOG.info("%s is busy in %s: mounted at %s", volume_id, attachment.instance.id, places)
        return attachment

    def _create(self, original: Original, backend: Any, size: Any, zone_name: str, kwargs: dict[str, Any]) -> Any:
        with self._lock:
            volume = self._made(original, backend, size, zone_name, kwargs)
        LOG.info("%s created: %d GiB %s in %s", volume.id, volume.size, volume.volume_type, zone_name)
        return volume

    def _made(self, original: Original, backend: Any, size: Any, zone_name: str, kwargs: dict[str, Any]) -> Any:
        zones = [zone.name for zone in backend.describe_availability_zones()]
        if zone_name not in zones:
            raise ApiError("InvalidZone.NotFound", f"The zone '{zone_name}' does not exist.")
        snapshot: Any = backend.get_snapshot(kwargs["snapshot_id"]) if kwargs.get("snapshot_id") else None
        if size is None and snapshot is None:
            raise ApiError("MissingParameter", "The request must contain the parameter size/snapshot")
        size_gib = snapshot.volume.size if size is None else int(size)
        if snapshot is not None and size_gib < snapshot.volume.size:
            raise ApiError(
                "InvalidParameterValue",
                f"Volume of {size_gib}GiB is smaller than snapshot '{snapshot.id}', "
                f"expect size >= {snapshot.volume.size}GiB",
            )
        volume_type = kwargs.get("volume_type") or "gp2"
        performance = limits.check_volume(volume_type, size_gib, kwargs.get("iops"), kwargs.get("throughput"))
        account_limits.check_quota(backend.volumes.values(), volume_type, size_gib)
        if volume_type != "gp2":
            kwargs |= {"iops": performance.iops, "throughput": performance.throughput_mibs}
        volume = original(backend, size=size_gib, zone_name=zone_name, **kwargs)
        volume.iops = performance.iops
        if snapshot is not None:
            self._store.copy(snapshot.id, volume.id)
        self._store.ensure(volume.id, size_gib)
        return volume

    def _finish(self, original: Original, backend: Any, attachment: Any) -> Any:
        volume_id, instance_id = attachment.volume.id, attachment.instance.id
        self._hypervisor.unplug(volume_id)
        original(backend, volume_id, instance_id, attachment.device)
        LOG.info("%s detached from %s", volume_id, instance_id)
        return attachment

    def _await_unmount(self, original: Original, backend: Any, attachment: Any) -> None:
        while True:
            time.sleep(_BUSY_POLL_S)
            with self._lock:
                if attachment.volume.attachment is not attachment:
                    return
                if not self._hypervisor.is_busy(attachment.volume.id):
                    self._finish(original, backend, attachment)
                    return


def _check_attachable(volume: Any, instance: Any, device: str | None) -> None:
    if not device:
        raise ApiError("MissingParameter", "The request must contain the parameter device")
    if volume.attachment is not None:
        raise ApiError("VolumeInUse", f"{volume.id} is already attached to an instance")
    if instance.state not in {"running", "stopped"}:
        raise ApiError("IncorrectState", f"Instance '{instance.id}' is not 'running'.")
    if volume.zone.name != instance.availability_zone:
        raise ApiError(
            "InvalidVolume.ZoneMismatch",
            f"The volume '{volume.id}' is not in the same availability zone as instance '{instance.id}'",
        )
    if not naming.is_device_name(device):
        message = f"Value ({device}) for parameter device is invalid. {device} is not a valid EBS device name."
        raise ApiError("InvalidParameterValue", message)
    if device in instance.block_device_mapping:
        message = f"Invalid value '{device}' for unixDevice. Attachment point {device} is already in use"
        raise ApiError("InvalidParameterValue", message)
    if len(data_volumes(instance)) >= _MAX_DATA_VOLUMES:
        raise ApiError("AttachmentLimitExceeded", f"Instance {instance.id} has {_MAX_DATA_VOLUMES} volumes attached")


def _attachment_to_end(volume: Any, instance_id: str | None, device: str | None) -> Any:
    attachment = volume.attachment
    if attachment is None:
        raise ApiError("IncorrectState", f"Volume '{volume.id}' is in the 'available' state.")
    if instance_id and attachment.instance.id != instance_id:
        message = f"The volume '{volume.id}' is not attached to instance '{instance_id}'."
        raise ApiError("InvalidAttachment.NotFound", message)
    if device and attachment.device != device:
        raise ApiError("InvalidAttachment.NotFound", f"The volume '{volume.id}' is not attached as device '{device}'.")
    if attachment.device == attachment.instance.root_device_name and attachment.instance.state == "running":
        message = f"Unable to detach root volume '{volume.id}' from instance '{attachment.instance.id}'"
        raise ApiError("OperationNotPermitted", message)
    return attachment
