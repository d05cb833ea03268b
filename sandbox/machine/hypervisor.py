"""The hypervisor: boots instances, plugs disks into them and takes both away again. Knows nothing of the EC2 API."""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Final

from sandbox.machine import guest, inventory, loops, naming, network
from sandbox.machine.errors import CloudError
from sandbox.machine.machine import Machine, MachineSpec, Service
from sandbox.machine.volumes import VolumeStore
from sandbox.settings import SandboxSettings

LOG: Final = logging.getLogger(__name__)

# Killing an instance drops its mounts, but the kernel writes their last pages first.
_UNMOUNT_TIMEOUT_S: Final = 20.0
# A file system's own threads write every few seconds; a copy takes a fraction of one.
_COPIES: Final = 20


@dataclass(frozen=True)
class Plug:
    """A disk that is plugged into an instance."""

    instance_id: str
    device: str


class Hypervisor:
    """Holds the machines that run and the disks that are plugged in. Safe to use from several threads."""

    def __init__(self, settings: SandboxSettings, store: VolumeStore, serve: Callable[[str, int], Service]) -> None:
        self._settings = settings
        self._store = store
        self._serve = serve
        self._machines: dict[str, Machine] = {}
        self._plugs: dict[str, Plug] = {}
        self._lock = threading.RLock()
        self._power_locks: dict[str, threading.RLock] = {}

    def power(self, instance_id: str) -> threading.RLock:
        """The lock to hold while an instance must neither boot nor go off."""
        with self._lock:
            return self._power_locks.setdefault(instance_id, threading.RLock())

    def boot(self, spec: MachineSpec, disks: Mapping[str, int]) -> None:
        """Boots an instance with its disks (volume id to size in GiB); one that runs already is left alone.

        Raises:
            CloudError: this machine cannot make the instance.
        """
        with self.power(spec.instance_id):
            if self.is_alive(spec.instance_id):
                return
            machine = Machine(self._settings, spec)

            def plug() -> None:
                for volume_id, size_gib in disks.items():
                    self._plug(machine, volume_id, size_gib)

            with self._lock:
                self._machines[spec.instance_id] = machine
            try:
                machine.boot(plug, lambda pid: self._serve(spec.instance_id, pid))
            except CloudError:
                self._unplug_all(spec.instance_id)
                raise
            LOG.info("%s (%s) booted at %s with %d volume(s)", spec.instance_id, spec.name, spec.address, len(disks))

    def power_off(self, instance_id: str, *, gently: bool) -> None:
        """Shuts an instance down or pulls its plug; its disks are unplugged when this returns."""
        with self.power(instance_id):
            machine = self._machines.get(instance_id)
            if machine is not None:
                if gently:
                    machine.shut_down()
                else:
                    machine.kill()
                LOG.info("%s (%s) is off", instance_id, machine.spec.name)
            self._unplug_all(instance_id)

    def forget(self, instance_id: str) -> None:
        """Removes a terminated instance's folder with its disk."""
        with self._lock:
            self._machines.pop(instance_id, None)
        shutil.rmtree(self._settings.instance_dir / instance_id, ignore_errors=True)

    def plug(self, instance_id: str, volume_id: str, size_gib: int) -> None:
        """Plugs a disk into a running instance; its device is there when this returns."""
        self._plug(self._machine(instance_id), volume_id, size_gib)
        LOG.info("%s plugged into %s as %s", volume_id, instance_id, self._plugs[volume_id].device)

    def unplug(self, volume_id: str) -> None:
        """Takes a disk out of whatever instance it is in; not plugged in is fine."""
        with self._lock:
            plug = self._plugs.pop(volume_id, None)
        if plug is None:
            return
        machine = self._machines.get(plug.instance_id)
        if machine is not None:
            # The instance may die at this very moment, and its devices with it.
            with contextlib.suppress(CloudError, OSError):
                guest.hide_disk(machine.pid, volume_id, plug.device)
        loops.detach(plug.device, self._store.image(volume_id))
        LOG.info("%s unplugged from %s", volume_id, plug.instance_id)

    def is_busy(self, volume_id: str) -> bool:
        """Whether a disk is plugged in and mounted."""
        plug = self._plugs.get(volume_id)
        return plug is not None and loops.is_busy(plug.device)

    def mounted_at(self, volume_id: str) -> list[str]:
        """Where the instance has a disk mounted, "a private place" where it does not see that; empty when nowhere."""
        plug = self._plugs.get(volume_id)
        if plug is None or not loops.is_busy(plug.device):
            return []
        places = []
        with contextlib.suppress(CloudError, OSError):
            places = guest.mount_points(self._machine(plug.instance_id).pid, plug.device)
        return places or ["a private place"]

    def tear_off(self, volume_id: str) -> None:
        """Ends every use of a disk inside its instance, so that it can be unplugged although it was mounted."""
        plug = self._plugs.get(volume_id)
        if plug is None or not self.is_alive(plug.instance_id):
            return
        guest.tear_off_disk(self._machine(plug.instance_id).pid, plug.device)
        loops.await_free(plug.device, _UNMOUNT_TIMEOUT_S)

    def snapshot(self, volume_id: str, snapshot_id: str) -> None:
        """Copies a disk as it is at one moment, also while it is in use: what was written to it, and nothing flushed.

        The instance's processes pause. Its kernel goes on, and may write what they left: then the copy is made again.

        Raises:
            CloudError: the disk was written to during each copy.
        """
        plug = self._plugs.get(volume_id)
        if plug is None or not self.is_alive(plug.instance_id):
            self._store.copy(volume_id, snapshot_id)
            return
        with guest.paused(self._machine(plug.instance_id).pid):
            for _ in range(_COPIES):
                before = loops.writes(plug.device)
                self._store.copy(volume_id, snapshot_id)
                if before is not None and loops.writes(plug.device) == before:
                    return
        raise CloudError(f"{volume_id} was written to during each of {_COPIES} copies")

    def grow(self, volume_id: str, size_gib: int) -> None:
        """Makes a disk larger, also while it is in use."""
        self._store.ensure(volume_id, size_gib)
        plug = self._plugs.get(volume_id)
        if plug is not None:
            loops.refresh_size(plug.device)

    def is_alive(self, instance_id: str) -> bool:
        """Whether an instance's first process runs."""
        machine = self._machines.get(instance_id)
        return machine is not None and machine.alive

    def pid(self, instance_id: str) -> int:
        """An instance's first process; CloudError when it is off."""
        return self._machine(instance_id).pid

    def stop_all(self) -> None:
        """Pulls the plug of everything."""
        for instance_id in list(self._machines):
            try:
                self.power_off(instance_id, gently=False)
            except CloudError as error:
                LOG.warning("%s", error)
            self.forget(instance_id)

    def _plug(self, machine: Machine, volume_id: str, size_gib: int) -> None:
        image = self._store.ensure(volume_id, size_gib)
        device = loops.attach(image)
        try:
            guest.show_disk(machine.pid, volume_id, device)
        except OSError as error:
            loops.detach(device, image)
            raise CloudError(f"{device} cannot be shown to {machine.spec.instance_id}: {error.strerror}") from error
        except CloudError:
            loops.detach(device, image)
            raise
        with self._lock:
            self._plugs[volume_id] = Plug(machine.spec.instance_id, device)

    def _unplug_all(self, instance_id: str) -> None:
        for volume_id, plug in list(self._plugs.items()):
            if plug.instance_id == instance_id:
                if not loops.await_free(plug.device, _UNMOUNT_TIMEOUT_S):
                    LOG.warning("%s is still mounted after %s is off", volume_id, instance_id)
                self.unplug(volume_id)

    def _machine(self, instance_id: str) -> Machine:
        machine = self._machines.get(instance_id)
        if machine is None:
            raise CloudError(f"the instance {instance_id} is not booted")
        return machine


def link_down(settings: SandboxSettings, name_or_id: str) -> inventory.InstanceRecord:
    """Pulls an instance's network cable: it is partitioned from everybody, its metadata service excepted."""
    record = inventory.find(settings, name_or_id)
    network.set_links([record.link], up=False)
    return record


def link_up(settings: SandboxSettings, name_or_id: str) -> inventory.InstanceRecord:
    """Plugs an instance's network cable in again."""
    record = inventory.find(settings, name_or_id)
    network.set_links([record.link], up=True)
    return record


def link_zone(settings: SandboxSettings, zone: str, *, up: bool) -> list[str]:
    """Cuts a zone off or connects it again, at once: instances and the Nomad server; their names."""
    subnet = settings.zone_subnet(zone)
    there = [one for one in inventory.records(settings) if one.alive and IPv4Address(one.address) in subnet]
    servers = [one.name for one in settings.nomad_servers if one.zone == zone]
    links = [one.link for one in there] + [naming.server_link_name(settings.name, zone) for _ in servers]
    network.set_links(links, up=up)
    return [*(one.name for one in there), *servers]
