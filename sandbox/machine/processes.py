"""Daemons of the sandbox: known by pid *and* start time, so that a process with a reused pid is never touched."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from sandbox.settings import CODE, HOME_VARIABLE, PROJECT, SandboxSettings

_KILL_GRACE_S = 10.0

# Variables that make an agent talk to something outside the sandbox, or (AWS_CA_BUNDLE) keep it from starting, or
# (GOGC, which the sandbox sets for the engine) have it take several times the memory.
_OWN_PREFIX: Final = "NOMAD_STATEFUL_"
_UNWANTED_PREFIXES: Final = ("AWS_", "NOMAD_", "CONSUL_", "VAULT_", "PULUMI_", "GOGC")


@dataclass(frozen=True)
class ProcessRecord:
    """Who a process is: its pid, its start time in clock ticks since boot, and the boot it was started in."""

    pid: int
    start_time: int
    boot_id: str


def boot_id() -> str:
    """An id that changes with every boot of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def start_time(pid: int) -> int | None:
    """Start time of a running process in clock ticks since boot; None when there is none (a zombie is none)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command's name, in brackets, may hold anything; the fields after it are plain: state, ppid, ...
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def identify(pid: int) -> ProcessRecord | None:
    """The record of a running process, None when there is none."""
    started = start_time(pid)
    return None if started is None else ProcessRecord(pid, started, boot_id())


def is_running(record: ProcessRecord | None) -> bool:
    """Whether exactly the process of the record still runs."""
    return record is not None and record.boot_id == boot_id() and start_time(record.pid) == record.start_time


def record_path(pid_file: Path) -> Path:
    """The record that stands beside `<name>.pid`."""
    return pid_file.with_suffix(".json")


def write_record(pid_file: Path, record: ProcessRecord) -> None:
    """Writes `<name>.pid` and beside it `<name>.json`, the latter atomically."""
    pid_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    pid_file.write_text(f"{record.pid}\n", encoding="ascii")
    path = record_path(pid_file)
    fresh = path.with_suffix(".json.new")
    fresh.write_text(json.dumps(asdict(record)) + "\n", encoding="ascii")
    fresh.replace(path)


def read_record(pid_file: Path) -> ProcessRecord | None:
    """The record beside a pid file, None when it is missing or was cut short."""
    try:
        fields = json.loads(record_path(pid_file).read_text(encoding="ascii"))
        return ProcessRecord(int(fields["pid"]), int(fields["start_time"]), str(fields["boot_id"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_alive(pid_file: Path) -> bool:
    """Whether the process recorded beside the pid file still runs."""
    return is_running(read_record(pid_file))


def environment(outer: Mapping[str, str]) -> dict[str, str]:
    """The environment of the agent: the caller's without what would reach out of the sandbox."""
    return {
        name: value
        for name, value in outer.items()
        if name.startswith(_OWN_PREFIX) or not name.startswith(_UNWANTED_PREFIXES)
    }


def start(
    argv: Sequence[str],
    *,
    pid_file: Path,
    log_file: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    umask: int = -1,
) -> ProcessRecord:
    """Starts a daemon in a session of its own, its output appended to a private log, and records it."""
    log_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as log:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=env,
            cwd=cwd,
            umask=umask,
            start_new_session=True,
        )
    # The child outlives us on purpose: without this, its Popen object warns when it is collected.
    process.returncode = 0
    record = identify(process.pid)
    if record is None:
        raise ChildProcessError(f"{argv[0]} ended as soon as it was started; see {log_file}")
    write_record(pid_file, record)
    return record


def start_module(settings: SandboxSettings, module: str, *, pid_file: Path, log_file: Path) -> None:
    """Starts a module of the sandbox as a process of its own, as `start` does."""
    own = {HOME_VARIABLE: str(settings.home), "PYTHONPATH": str(CODE)}
    start(
        [sys.executable, "-m", module],
        pid_file=pid_file,
        log_file=log_file,
        env={**environment(os.environ), **own},
        cwd=PROJECT,
    )


def stop(pid_file: Path, *, timeout_s: float = _KILL_GRACE_S) -> bool:
    """Stops the recorded process (TERM, after the timeout KILL) and removes its record; says whether it was running."""
    stopped = stop_process(read_record(pid_file), timeout_s=timeout_s)
    for path in (pid_file, record_path(pid_file)):
        path.unlink(missing_ok=True)
    return stopped


def stop_process(record: ProcessRecord | None, *, timeout_s: float = _KILL_GRACE_S) -> bool:
    """Stops exactly the process of the record; says whether it was running."""
    if record is None or not is_running(record):
        return False
    try:
        descriptor = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return False
    try:
        # The descriptor is bound to whoever has the pid now: only from here on can the pid not change hands.
        if not is_running(record):
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, signal.SIGTERM)
            if not _await_end(descriptor, timeout_s):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                _await_end(descriptor, _KILL_GRACE_S)
    finally:
        os.close(descriptor)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(record.pid, os.WNOHANG)
    return True


def await_end(record: ProcessRecord, *, timeout_s: float) -> bool:
    """Waits until the process of the record has ended; False at the deadline."""
    deadline = time.monotonic() + timeout_s
    try:
        descriptor = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return True
    try:
        return not is_running(record) or _await_end(descriptor, deadline - time.monotonic())
    finally:
        os.close(descriptor)


def _await_end(descriptor: int, timeout_s: float) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(max(timeout_s, 0) * 1000))


def last_words(log: Path) -> str:
    """The last line of a log that is worth showing."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "it left no log"
    errors = [line for line in lines if "[ERROR]" in line or line.startswith("==> Error")]
    return (errors or [line for line in lines if line.strip()] or ["it left an empty log"])[-1].strip()
