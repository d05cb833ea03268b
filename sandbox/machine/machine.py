"""One running instance: a set of namespaces with a first process, a network link and a metadata service."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final, Protocol

from sandbox.machine import ami, control_groups, inventory, naming, network
from sandbox.machine.errors import CloudError
from sandbox.machine.namespaces import UNSHARE, network_of
from sandbox.machine.processes import ProcessRecord, identify, is_running
from sandbox.machine.waiting import until
from sandbox.settings import SandboxSettings

LOG: Final = logging.getLogger(__name__)

GRACE_S: Final = 3.0
"""How long the processes of an instance have to end when it is shut down."""

SERVICES_S: Final = 115.0
"""How long its services have before that (init.py)."""

_BOOT_TIMEOUT_S: Final = 20.0
_DEATH_TIMEOUT_S: Final = 20.0
_FIRMWARE: Final = Path(__file__).with_name("firmware.sh")
_INIT: Final = Path(__file__).with_name("init.py")


class Service(Protocol):
    """Something that serves an instance as long as it lives."""

    def close(self) -> None:
        """Releases the instance's namespaces."""


@dataclass(frozen=True)
class MachineSpec:
    """What EC2 decided about an instance before it boots."""

    instance_id: str
    name: str
    address: IPv4Address
    mac: str
    dns_name: str
    user_data: str


class Machine:
    """An instance that is being booted, runs, or has died; never booted twice."""

    def __init__(self, settings: SandboxSettings, spec: MachineSpec) -> None:
        self.spec = spec
        self.link = naming.link_name(settings.name, spec.instance_id)
        self._settings = settings
        self._folder = settings.instance_dir / spec.instance_id
        self._group = control_groups.of_instance(settings, spec.instance_id)
        self._expected = False
        self._dead = threading.Event()
        self._first: ProcessRecord | None = None
        self._service: Service | None = None

    @property
    def alive(self) -> bool:
        """Whether the first process runs."""
        return not self._dead.is_set() and is_running(self._first)

    @property
    def pid(self) -> int:
        """The first process as the host sees it.

        Raises:
            CloudError: the instance is off.
        """
        if self._first is None or not self.alive:
            raise CloudError(f"the instance {self.spec.name} ({self.spec.instance_id}) is off")
        return self._first.pid

    def boot(self, plug: Callable[[], None], serve: Callable[[int], Service]) -> None:
        """Makes the namespaces, lets the caller plug in disks and a metadata service, and starts the user data.

        Raises:
            CloudError: the machine cannot be made here; nothing is left of it.
        """
        self._write_files()
        control_groups.make(self._group)
        ready, ready_inside = os.pipe()
        try:
            process = self._spawn(ready_inside)
        finally:
            os.close(ready_inside)
        try:
            self._await_ready(ready)
            self._first = child_of(process.pid)
            namespace = network_of(self._first.pid)
            network.connect(self._settings, self.link, namespace, self.spec.address, self.spec.mac)
            self._service = serve(self._first.pid)
            plug()
            _answer(process)
        except BaseException:
            self._expected = True
            process.kill()
            process.wait(_DEATH_TIMEOUT_S)
            self._bury()
            raise
        finally:
            os.close(ready)
        self._save()
        threading.Thread(target=self._watch, args=(process,), name=f"watch-{self.spec.name}", daemon=True).start()

    def shut_down(self) -> None:
        """Asks the processes to end, then turns the instance off."""
        self._signal(signal.SIGTERM)
        if not self._dead.wait(SERVICES_S + GRACE_S + 2):
            self._signal(signal.SIGKILL)
        self._await_death()

    def kill(self) -> None:
        """Pulls the plug."""
        self._signal(signal.SIGKILL)
        self._await_death()

    def _signal(self, number: signal.Signals) -> None:
        self._expected = True
        first = self._first
        if first is None or not is_running(first):
            return
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(first.pid)
            try:
                if is_running(first):
                    signal.pidfd_send_signal(descriptor, number)
            finally:
                os.close(descriptor)

    def _await_death(self) -> None:
        if not self._dead.wait(_DEATH_TIMEOUT_S):
            raise CloudError(f"the instance {self.spec.name} did not die within {_DEATH_TIMEOUT_S:.0f} s")

    def _write_files(self) -> None:
        etc, disk = self._folder / "etc", self._folder / "disk"
        for folder in (etc, self._folder / "sbin", disk, disk / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        # Other users of the machine stay out at the home's own mode; inside, the disk is the root of a file system.
        disk.chmod(0o755)
        (disk / "tmp").chmod(0o1777)
        settings, address = self._settings, self.spec.address
        _write(etc, ami.etc_files(str(address), self.spec.dns_name, str(settings.file_server)), 0o644)
        zone = next(zone for zone in settings.zones if address in settings.zone_subnet(zone))
        _write(self._folder / "sbin", ami.programs(zone, settings.efs_dir, settings.nas_dir), 0o755)
        script = self._folder / "boot.sh"
        script.touch(mode=0o700)
        script.write_text(self.spec.user_data, encoding="utf-8")

    def _spawn(self, ready: int) -> subprocess.Popen[bytes]:
        init = [sys.executable, "-I", "-S", str(_INIT), str(self._folder / "boot.sh"), str(GRACE_S)]
        firmware = ["/bin/sh", str(_FIRMWARE), str(self._folder), self.spec.dns_name, self._group, str(ready), *init]
        self._settings.log_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        console = os.open(self.console, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            return subprocess.Popen(
                control_groups.entering(self._group, [*UNSHARE, *firmware]),
                stdin=subprocess.PIPE,
                stdout=console,
                stderr=console,
                pass_fds=(ready,),
                env=_environment(),
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(console)

    @property
    def console(self) -> Path:
        """Where what the instance prints is kept."""
        # Names of sandbox.toml are file names; a tag's value could be the name of a daemon's log, or a path.
        named = self.spec.name in {spec.name for spec in self._settings.instances}
        return self._settings.log_dir / f"{self.spec.name if named else self.spec.instance_id}.log"

    def _await_ready(self, ready: int) -> None:
        readable, _, _ = select.select([ready], [], [], _BOOT_TIMEOUT_S)
        if readable and os.read(ready, 16):
            return
        lines = self.console.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
        raise CloudError(
            f"the instance {self.spec.name} did not boot; its console says: {' | '.join(lines) or 'nothing'}"
        )

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        status = process.wait()
        self._bury()
        if not self._expected:
            LOG.warning(
                "%s (%s) died, status %s; EC2 goes on calling it running", self.spec.instance_id, self.spec.name, status
            )

    def _bury(self) -> None:
        # An open socket would keep the network namespace, and with it the link, alive.
        if self._service is not None:
            self._service.close()
        with contextlib.suppress(CloudError):
            network.delete_link(self.link)
        try:
            control_groups.remove(self._group)
        except CloudError as error:
            LOG.warning("%s (%s): %s", self.spec.instance_id, self.spec.name, error)
        self._first = None
        self._save()
        self._dead.set()

    def _save(self) -> None:
        record = inventory.InstanceRecord(
            self.spec.instance_id, self.spec.name, str(self.spec.address), self.link, self._first
        )
        # The folder is gone when the sandbox was wiped while the instance died.
        with contextlib.suppress(FileNotFoundError):
            inventory.save(self._settings, record)


def _write(folder: Path, files: Mapping[str, str], mode: int) -> None:
    for name, text in files.items():
        path = folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)


def _answer(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None  # noqa: S101 - it was asked for
    try:
        process.stdin.write(b"boot\n")
        process.stdin.close()
    except BrokenPipeError as error:
        raise CloudError("the instance died while it booted") from error


def child_of(parent: int) -> ProcessRecord:
    """The child of a process that makes namespaces, once it is there.

    Raises:
        CloudError: there is none.
    """

    def look() -> ProcessRecord | None:
        children = (identify(pid) for pid, above in parents().items() if above == parent)
        return next(filter(None, children), None)

    found = until(look, _BOOT_TIMEOUT_S, pause_s=0.01)
    if found is None:
        raise CloudError("the instance has no first process")
    return found


def descendants(pid: int) -> list[int]:
    """Every process below one, parents before their children."""
    parent_of = parents()
    found = [pid]
    for one in found:
        found += [child for child, parent in parent_of.items() if parent == one]
    return found[1:]


def parents() -> Mapping[int, int]:
    """The parent of every process of the machine."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
                found[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    return found


def _environment() -> dict[str, str]:
    # Nothing of the operator's shell: an instance has no credentials but those of its role.
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "TMPDIR": "/mnt/tmp",
    }
