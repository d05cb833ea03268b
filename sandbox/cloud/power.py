"""Instances that really run: launch, start, stop, reboot and terminate around moto's records."""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Any, Final

from sandbox.cloud.ebs import FORCE, INTERNAL
from sandbox.cloud.moto_facts import data_volumes, machine_spec
from sandbox.machine.errors import ApiError, CloudError
from sandbox.machine.hypervisor import Hypervisor
from sandbox.settings import SandboxSettings

LOG: Final = logging.getLogger(__name__)

_CODES: Final = {"pending": 0, "running": 16, "shutting-down": 32, "stopping": 64}

Original = Callable[..., Any]


class Power:
    """Stands around moto's own methods, which are handed in as `original`."""

    def __init__(self, settings: SandboxSettings, hypervisor: Hypervisor) -> None:
        self._settings = settings
        self._hypervisor = hypervisor
        self.boot_devices: dict[str, dict[str, str]] = {}
        """By instance: the volumes that were there when it booted last, as its metadata tells them."""

    def run_instances(self, original: Original, backend: Any, *args: Any, **kwargs: Any) -> Any:
        """RunInstances: the instances are up when it answers."""
        self._check_launch(backend, kwargs)
        token = INTERNAL.set(True)
        try:
            reservation = original(backend, *args, **kwargs)
        finally:
            INTERNAL.reset(token)
        try:
            for instance in reservation.instances:
                self._check_address(instance.private_ip)
                self._boot(backend, instance)
        except (ApiError, CloudError):
            for instance in reservation.instances:
                instance.terminate()
            raise
        return reservation

    def start(self, original: Original, instance: Any) -> Any:
        """StartInstances: a running instance stays as it is, even when nothing in it lives any more."""
        if instance.state == "running":
            return copy.copy(instance.instance_state)
        if instance.state != "stopped":
            raise _wrong_state(instance, "started")
        self._boot(instance.ec2_backend, instance)
        return original(instance)

    def stop(self, original: Original, instance: Any) -> Any:
        """StopInstances: shuts down, or pulls the plug with Force; volumes stay attached."""
        previous = copy.copy(instance.instance_state)
        if instance.state in {"stopped", "stopping"}:
            return previous
        if instance.state != "running":
            raise _wrong_state(instance, "stopped")
        gently = not FORCE.get()

        def finish() -> None:
            self._hypervisor.power_off(instance.id, gently=gently)
            original(instance)

        _enter(instance, "stopping")
        _in_background(finish)
        return previous

    def reboot(self, original: Original, instance: Any) -> None:
        """RebootInstances: also brings back an instance that died."""
        if instance.state != "running":
            raise _wrong_state(instance, "rebooted")

        def finish() -> None:
            self._hypervisor.power_off(instance.id, gently=True)
            if instance.state == "running":
                self._boot(instance.ec2_backend, instance)

        original(instance)
        _in_background(finish)

    def terminate(self, original: Original, instance: Any) -> Any:
        """TerminateInstances: pulls the plug; volumes that outlive the instance become available."""
        previous = copy.copy(instance.instance_state)
        if instance.state in {"terminated", "shutting-down"}:
            return previous

        def finish() -> None:
            INTERNAL.set(True)
            self._hypervisor.power_off(instance.id, gently=False)
            self._hypervisor.forget(instance.id)
            address, subnet = instance.private_ip, instance.nics[0].subnet
            original(instance)
            subnet.del_subnet_ip(address)

        _enter(instance, "shutting-down")
        _in_background(finish)
        return previous

    def _boot(self, backend: Any, instance: Any) -> None:
        with self._hypervisor.power(instance.id):
            volumes = data_volumes(instance)
            self.boot_devices[instance.id] = {
                f"ebs{number}": device.removeprefix("/dev/") for number, device in enumerate(sorted(volumes), 1)
            }
            disks = {volume_id: backend.get_volume(volume_id).size for volume_id in volumes.values()}
            self._hypervisor.boot(machine_spec(instance), disks)

    def _check_launch(self, backend: Any, kwargs: dict[str, Any]) -> None:
        if backend.region_name != self._settings.region:
            raise ApiError("UnsupportedOperation", f"This sandbox runs instances in {self._settings.region} only")
        wanted = kwargs.get("private_ip")
        if not wanted:
            return
        self._check_address(wanted)
        holders = [one for one in backend.all_instances() if one.private_ip == wanted and one.state != "terminated"]
        if holders:
            raise ApiError("InvalidIPAddress.InUse", f"Address {wanted} is in use by {holders[0].id}")

    def _check_address(self, address: str) -> None:
        servers = (server.address for server in self._settings.nomad_servers)
        taken = {self._settings.gateway, self._settings.file_server, *servers}
        if IPv4Address(address) not in self._settings.subnet or IPv4Address(address) in taken:
            raise ApiError(
                "InvalidParameterValue",
                f"{address} is not an instance address of {self._settings.subnet}, the only network of this sandbox",
            )


def _enter(instance: Any, state: str) -> None:
    instance.instance_state.name, instance.instance_state.code = state, _CODES[state]


def _wrong_state(instance: Any, verb: str) -> ApiError:
    message = f"The instance '{instance.id}' is not in a state from which it can be {verb}: it is {instance.state}."
    return ApiError("IncorrectInstanceState", message)


def _in_background(work: Callable[[], None]) -> None:
    def run() -> None:
        try:
            work()
        except (CloudError, OSError) as error:
            LOG.error("an instance is stuck between two states: %s", error)

    threading.Thread(target=run, daemon=True).start()
