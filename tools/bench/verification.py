"""How long `make verify` takes, and each of its steps."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence

from tools.bench.contender import Failed
from tools.bench.recorder import Recorder
from tools.trial.running import Running

TIMEOUT_S = 240.0
_STEP_ENDS_WITH = "rows read back"


def measure(running: Running, recorder: Recorder, repetition: int) -> None:
    """Runs it once on a stack that is up."""
    output: list[tuple[float, str]] = []
    started = time.monotonic()
    recorder.time("verify", "ours", "all", repetition, lambda: _run(running, output))
    for step, seconds in steps(output, started):
        recorder.keep("verify", "ours", step, repetition, seconds)


def steps(output: Sequence[tuple[float, str]], started: float) -> list[tuple[str, float]]:
    """Durations of the steps in seconds, out of the lines printed and when they came."""
    found, before = [], started
    for at, line in output:
        if line.rstrip().endswith(_STEP_ENDS_WITH):
            found.append((line.strip().partition(":")[0], at - before))
            before = at
    return found


def _run(running: Running, output: list[tuple[float, str]]) -> None:
    command = [running.python, "-u", "-m", "operate", "verify"]
    with subprocess.Popen(
        command,
        cwd=running.project,
        env=running.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        guard = threading.Timer(TIMEOUT_S, process.kill)
        guard.start()
        assert process.stdout is not None  # noqa: S101 - it was asked for
        output.extend((time.monotonic(), line) for line in process.stdout)
        guard.cancel()
    if process.returncode != 0:
        raise Failed(f"verify failed: {output[-1][1].strip()[:160] if output else 'it said nothing'}")
