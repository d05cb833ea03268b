"""`make up` on a machine that has the toolchain (warm) and on one that has nothing (cold), by phase."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from bench.contender import Failed
from bench.page import PROJECT
from bench.recorder import Recorder
from tests.sandbox.running import Running

_PHASE = re.compile(r"^up: (?P<name>[a-z ]+): .*\((?P<seconds>\d+\.\d) s\)$", re.MULTILINE)
_COLD_TIMEOUT_S = 1800.0
WARM, COLD = "make up, warm", "make up, cold"


def phases(output: str) -> list[tuple[str, float]]:
    """Name and seconds of each phase that `up` printed; they may overlap."""
    return [(found["name"], float(found["seconds"])) for found in _PHASE.finditer(output)]


def warm(running: Running, recorder: Recorder, repetition: int) -> bool:
    """Brings the sandbox up with its stack, from nothing; says whether it is up."""
    said: list[str] = []

    def up() -> None:
        # The project's own: a copy's virtual environment is a link to it.
        _checked(subprocess.run([PROJECT / "sandbox/bootstrap.sh"], capture_output=True, text=True, check=False))
        recorder.keep(WARM, "ours", "bootstrap", repetition, time.monotonic() - started)
        said.append(_checked(running.sandbox("up")))

    started = time.monotonic()
    done = recorder.time(WARM, "ours", "all", repetition, up)
    _keep_phases(recorder, WARM, repetition, said)
    return done


def cold(recorder: Recorder, name: str, subnet: str) -> None:
    """From a clone on a machine without a toolchain, a virtual environment or a package cache; takes minutes."""
    folder = Path(tempfile.mkdtemp(prefix="nomad-stateful-cold-"))
    running = Running.prepare(folder / "project", name, subnet)
    (running.project / ".venv").unlink()
    running.env |= {"HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "cache")}
    (folder / "home").mkdir()
    said: list[str] = []
    try:
        recorder.time(COLD, "ours", "all", 1, lambda: said.append(_make(running, "up")))
        _keep_phases(recorder, COLD, 1, said)
    finally:
        running.run("make", "down", "FORCE=1")
        # Go writes its modules read-only.
        subprocess.run(["chmod", "-R", "u+w", str(folder)], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def _make(running: Running, target: str) -> str:
    return _checked(running.run("make", target, timeout_s=_COLD_TIMEOUT_S))


def _keep_phases(recorder: Recorder, case: str, repetition: int, said: list[str]) -> None:
    for name, seconds in phases("".join(said)):
        recorder.keep(case, "ours", name, repetition, seconds)


def _checked(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode != 0:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line.lower()]
        own = [line for line in said if not line.startswith("make:")]
        raise Failed(f"failed: {(own or said or [f'status {done.returncode}'])[-1].strip()[:160]}")
    return done.stderr
