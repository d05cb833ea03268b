"""`make up` on a machine that has the toolchain (warm) and on one that has nothing (cold), by phase."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tools.bench.contender import Failed
from tools.bench.page import PROJECT
from tools.bench.recorder import Recorder
from tools.bench.taking_down import remove
from tools.toolchain.onpath import foreign_path
from tools.trial.ground import Ground
from tools.trial.running import Running

_PHASE = re.compile(r"^up: (?P<name>[a-z ]+): .*\((?P<seconds>\d+\.\d) s\)$")
_TOOL = re.compile(r"^toolchain: (?P<name>.+): done in (?P<seconds>\d+) s$")
# With the first building of the images, warm ones too.
_UP_TIMEOUT_S = 1800.0
WARM, COLD = "make up, warm", "make up, cold"
# Where the shell may say that caches are.
_CACHES = ("GOCACHE", "GOMODCACHE", "GOPATH", "PIP_CACHE_DIR", "UV_CACHE_DIR")

Command = Callable[[], "subprocess.CompletedProcess[str]"]


def phases(output: str) -> list[tuple[str, float]]:
    """Name and seconds of each phase that `up` printed, and of what it built and fetched; they may overlap."""
    found = []
    for line in output.splitlines():
        if phase := _PHASE.match(line):
            found.append((phase["name"], float(phase["seconds"])))
        elif tool := _TOOL.match(line):
            *words, last = tool["name"].split()
            # Of an address, what is at its end says it.
            found.append((" ".join(["tools:", *words, last.rpartition("/")[2]]), float(tool["seconds"])))
    return found


def warm(running: Running, recorder: Recorder, repetition: int, *words: str) -> bool:
    """Brings the sandbox up with its stack, from nothing; says whether it is up. `words` are options of its `up`."""
    # The project's own: a copy's virtual environment is a link to it.
    script = [PROJECT / "tools/bootstrap.sh"]
    return _measure(
        recorder,
        WARM,
        repetition,
        lambda: subprocess.run(script, capture_output=True, text=True, check=False),
        lambda: running.sandbox("up", *words, timeout_s=_UP_TIMEOUT_S),
    )


def cold(recorder: Recorder, ground: Ground) -> None:
    """From a clone on a machine without a toolchain, a virtual environment or a package cache; takes minutes."""
    with bare_clone(ground) as running:
        measure_cold(running, recorder)


def measure_cold(running: Running, recorder: Recorder) -> None:
    """Brings a bare clone up by what a person would type."""
    _measure(
        recorder,
        COLD,
        1,
        lambda: running.run("make", "bootstrap", timeout_s=_UP_TIMEOUT_S),
        lambda: running.run("make", "up", timeout_s=_UP_TIMEOUT_S),
    )


@contextmanager
def bare_clone(ground: Ground) -> Iterator[Running]:
    """A copy of the project that finds no cache; taken down and removed with all it made."""
    folder = Path(tempfile.mkdtemp(prefix="nomad-stateful-cold-"))
    running = Running.prepare(folder / "project", ground)
    try:
        (running.project / ".venv").unlink()
        running.env = bare_env(running.env, folder)
        Path(running.env["HOME"]).mkdir()
        yield running
    finally:
        remove(running, folder, print)


def bare_env(env: Mapping[str, str], folder: Path) -> dict[str, str]:
    """An environment whose caches are in `folder`, and without those of our programs that are in today's cache."""
    # Of a make that runs us, a make that we run would take the arguments.
    kept = {key: value for key, value in env.items() if key not in _CACHES and not key.startswith("MAKE")}
    home = {"HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "cache")}
    return kept | home | {"PATH": foreign_path(env["PATH"])}


def _measure(recorder: Recorder, case: str, repetition: int, bootstrap: Command, up: Command) -> bool:
    said: list[str] = []

    def both() -> None:
        _checked(bootstrap())
        recorder.keep(case, "ours", "bootstrap", repetition, time.monotonic() - started)
        said.append(_checked(up()))

    started = time.monotonic()
    done = recorder.time(case, "ours", "all", repetition, both)
    for name, seconds in phases("".join(said)):
        recorder.keep(case, "ours", name, repetition, seconds)
    return done


def _checked(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode != 0:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line.lower()]
        own = [line for line in said if not line.startswith(("make:", "make["))]
        raise Failed(f"failed: {(own or said or [f'status {done.returncode}'])[-1].strip()[:160]}")
    return done.stderr
