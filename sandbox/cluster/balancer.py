"""The process that leads from Nomad's address to the servers, where there are several (balancing.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sandbox.machine import processes
from sandbox.machine.ports import is_listening, refuse_taken
from sandbox.machine.waiting import until
from sandbox.settings import SandboxError, SandboxSettings

_READY_TIMEOUT_S: Final = 30.0


def pid_file(settings: SandboxSettings) -> Path:
    """Where its process is recorded."""
    return settings.run_dir / "nomad-balancer.pid"


def is_alive(settings: SandboxSettings) -> bool:
    """Whether it runs, or is not needed."""
    return settings.servers == 1 or processes.is_alive(pid_file(settings))


def start(settings: SandboxSettings) -> bool:
    """Starts it unless it runs, and waits until it listens; says whether it had to be started.

    Raises:
        SettingsError: the port of Nomad's address is taken.
        SandboxError: it does not come up.
    """
    if is_alive(settings):
        return False
    refuse_taken(settings, ("nomad_http",))
    log = settings.log_dir / "nomad-balancer.log"
    processes.start_module(settings, "sandbox.cluster.balancing", pid_file=pid_file(settings), log_file=log)
    if not until(lambda: is_listening(settings.gateway, settings.nomad_http_port), _READY_TIMEOUT_S):
        raise SandboxError(f"Nothing leads to the Nomad servers: {processes.last_words(log)}. Its log is {log}.")
    return True


def stop(settings: SandboxSettings) -> bool:
    """Stops it; says whether it was running."""
    return processes.stop(pid_file(settings))
