"""What each instance is made of, on disk, so that other processes can enter, fault and clear it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from sandbox.machine.errors import CloudError
from sandbox.machine.processes import ProcessRecord, await_end, is_running
from sandbox.settings import SandboxSettings, load_settings

_DEATH_TIMEOUT_S: Final = 20.0


@dataclass(frozen=True)
class InstanceRecord:
    """An instance that was booted: its first process (None when it is off) and its end of the network."""

    instance_id: str
    name: str
    address: str
    link: str
    first_process: ProcessRecord | None

    @property
    def alive(self) -> bool:
        """Whether its first process runs."""
        return is_running(self.first_process)


def record_file(settings: SandboxSettings, instance_id: str) -> Path:
    """Where the record of an instance is kept."""
    return settings.instance_dir / instance_id / "instance.json"


def save(settings: SandboxSettings, record: InstanceRecord) -> None:
    """Writes the record of an instance atomically."""
    path = record_file(settings, record.instance_id)
    fresh = path.with_suffix(".json.new")
    fresh.write_text(json.dumps(asdict(record), indent=2) + "\n", encoding="utf-8")
    fresh.replace(path)


def records(settings: SandboxSettings) -> list[InstanceRecord]:
    """Records of all instances that have a folder, by name; unreadable ones are left out."""
    found = []
    for path in settings.instance_dir.glob("*/instance.json"):
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            first = fields.pop("first_process")
            found.append(InstanceRecord(**fields, first_process=ProcessRecord(**first) if first else None))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return sorted(found, key=lambda record: record.name)


def find(settings: SandboxSettings, name_or_id: str) -> InstanceRecord:
    """The record of one instance.

    Raises:
        CloudError: there is no instance of that name or id.
    """
    known = records(settings)
    for record in known:
        if name_or_id in {record.instance_id, record.name}:
            return record
    names = ", ".join(record.name for record in known) or "none is booted"
    raise CloudError(f"instance is {name_or_id!r}: there is no such instance. Use a name or an id; there are: {names}.")


def pull_plug(record: InstanceRecord) -> bool:
    """Kills an instance as a power cut would; says whether it was running. It is dead when this returns."""
    first = record.first_process
    if first is None or not is_running(first):
        return False
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(first.pid)
        try:
            if not is_running(first):
                return False
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)
    return await_end(first, timeout_s=_DEATH_TIMEOUT_S)


def enter(name_or_id: str, settings: SandboxSettings | None = None) -> list[str]:
    """The words to put before a command so that it runs inside an instance (needs root).

    Raises:
        CloudError: there is no such instance, or it is not running.
    """
    record = find(settings or load_settings(), name_or_id)
    if record.first_process is None or not record.alive:
        raise CloudError(
            f"the instance {record.name} ({record.instance_id}) is off: "
            "start it with StartInstances, or with RebootInstances where EC2 calls it running."
        )
    return enter_process(record.first_process.pid)


def enter_process(pid: int) -> list[str]:
    """The words to put before a command so that it runs in all the namespaces of an instance's process."""
    return ["nsenter", "--target", str(pid), "--net", "--pid", "--mount", "--uts", "--ipc", "--cgroup", "--"]
