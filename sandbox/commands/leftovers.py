"""What a crash, a kill or a reboot left of an earlier sandbox, and what `down` leaves when it is done: nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

from sandbox.cloud import service as cloud
from sandbox.cluster import server
from sandbox.machine import processes, zone_delay
from sandbox.machine.cleanup import cleanup
from sandbox.machine.orphans import end_orphans
from sandbox.settings import SandboxSettings

_KEPT = "log"


def was_started(settings: SandboxSettings) -> bool:
    """Whether a sandbox was started in this folder."""
    return _marker_file(settings).exists()


def mark_started(settings: SandboxSettings) -> None:
    """Marks the start of a sandbox."""
    _marker_file(settings).touch()


def is_broken(settings: SandboxSettings) -> bool:
    """Whether a sandbox was started here whose cloud has died since, and everything on it with it."""
    return was_started(settings) and not cloud.is_alive(settings)


def clear(settings: SandboxSettings, *, keep_logs: bool) -> list[str]:
    """Stops and removes everything of the sandbox; one sentence per kind of thing that was there."""
    said: list[str] = []
    pulumi = processes.read_record(settings.run_dir / "pulumi.pid")
    if processes.stop_process(pulumi, timeout_s=30):
        said.append("stopped pulumi")
    ended = end_orphans(settings)
    if ended:
        said.append(f"ended {ended} process{'' if ended == 1 else 'es'} that a killed pulumi left")
    # The cloud goes first: its instances take the clients along, which would otherwise mourn their server.
    if cloud.stop(settings):
        said.append("stopped the EC2 stand-in with its instances")
    zone_delay.stop(settings)
    if server.stop(settings):
        said.append("stopped the Nomad server")
    said += cleanup(settings)
    _remove_files(settings, keep_logs=keep_logs)
    return said


def _remove_files(settings: SandboxSettings, *, keep_logs: bool) -> None:
    if not settings.home.is_dir():
        return
    for path in settings.home.iterdir():
        if keep_logs and path.name == _KEPT:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    if not keep_logs:
        settings.home.rmdir()


def _marker_file(settings: SandboxSettings) -> Path:
    return settings.home / "started"
