"""The sandbox's AWS account as `up` and `down` see it: the EC2 daemon, its health, and what is in it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sandbox.machine import processes
from sandbox.machine.ports import is_listening, refuse_taken
from sandbox.machine.waiting import until
from sandbox.settings import SandboxError, SandboxSettings

_READY_TIMEOUT_S: Final = 60.0


def pid_file(settings: SandboxSettings) -> Path:
    """Where the daemon's process is recorded."""
    return settings.run_dir / "ec2.pid"


def is_alive(settings: SandboxSettings) -> bool:
    """Whether the daemon runs; its volumes and instances are as mortal as it is."""
    return processes.is_alive(pid_file(settings))


def start(settings: SandboxSettings) -> bool:
    """Starts the daemon unless it runs, and waits until the gateway has its address; says whether it had to be started.

    Raises:
        SettingsError: its port is taken.
        SandboxError: it does not come up; its last words are in the message.
    """
    started = not is_alive(settings)
    log = _log(settings)
    if started:
        refuse_taken(settings, ("ec2",))
        # The daemon says why it cannot start; what an earlier one said would be mistaken for it.
        log.unlink(missing_ok=True)
        processes.start_module(settings, "sandbox.cloud", pid_file=pid_file(settings), log_file=log)
    _await(settings, lambda: _has_address(settings))
    return started


def await_api(settings: SandboxSettings) -> None:
    """Waits until the daemon's API answers.

    Raises:
        SandboxError: it does not; its last words are in the message.
    """
    # Nothing is sent: while nobody listens, a request could leave the machine by the default route.
    _await(settings, lambda: is_listening(settings.gateway, settings.ec2_port))


def stop(settings: SandboxSettings) -> bool:
    """Stops the daemon, which takes its instances and volumes along; says whether it was running."""
    return processes.stop(pid_file(settings), timeout_s=40)


def _log(settings: SandboxSettings) -> Path:
    return settings.log_dir / "ec2.log"


def _await(settings: SandboxSettings, condition: Callable[[], bool]) -> None:
    log = _log(settings)

    def look() -> bool:
        if ready := condition():
            return ready
        if not is_alive(settings):
            raise SandboxError(f"The sandbox's cloud did not start: {processes.last_words(log)}")
        return False

    if not until(look, _READY_TIMEOUT_S):
        raise SandboxError(f"{settings.ec2_url} does not answer after {_READY_TIMEOUT_S:.0f} s; its log is {log}.")


def _has_address(settings: SandboxSettings) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((str(settings.gateway), 0))
        except OSError:
            return False
    return True
