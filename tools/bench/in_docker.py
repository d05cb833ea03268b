"""The stack of a real account in containers, real docker and MySQL: the floor and ours, in a sandbox of its own."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import traceback
from ipaddress import IPv4Network
from pathlib import Path

from sandbox.docker.stack import STACK
from tools.bench import bringing_up, page, tables
from tools.bench.contender import Contender
from tools.bench.floor import Floor
from tools.bench.passes import BriefPasses
from tools.bench.pulumi import Pulumi
from tools.bench.recorder import Recorder
from tools.bench.rig import Rig
from tools.bench.samples import OK
from tools.bench.taking_down import remove
from tools.bench.wanted import Wanted
from tools.trial.ground import Ground
from tools.trial.running import Running

GROUND = Ground("nbd", IPv4Network("10.173.149.0/24"))


class InDocker(Pulumi):
    """This project's program with the stack that the sandbox has in containers."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig, "ours", rig.running.project, STACK)

    def configure(self, memory_mib: int | None) -> None:
        """Nothing is changed."""

    def forget(self) -> None:
        """Finds out by a refresh that nothing is there."""
        self.run("cancel", "--yes", timeout_s=60)
        self.run("destroy", "--yes", "--skip-preview", "--refresh", timeout_s=300)


def run(results: Path, repetitions: int, limit_s: float, official: Path | None) -> bool:
    """Measures both in turn and writes the samples; says whether anything failed. No pass begins after `limit_s`."""
    results.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(results / page.DOCKER)
    folder = Path(tempfile.mkdtemp(prefix="nomad-stateful-bench-"))
    running = Running.prepare(folder / "project", GROUND)
    complete = False
    words = ["--docker", *([] if official is None else ["--official", str(official.resolve())])]
    try:
        if bringing_up.warm(running, recorder, 1, *words):
            complete = _passes(running, recorder, repetitions, limit_s)
    finally:
        recorder.say("taking the sandbox down")
        remove(running, folder, recorder.say)
    print(f"\n{tables.docker(recorder.samples)}\n\nfailed:\n{tables.failures(recorder.samples)}", flush=True)
    return not complete or any(one.outcome != OK for one in recorder.samples)


def _passes(running: Running, recorder: Recorder, repetitions: int, limit_s: float) -> bool:
    running.enter_env()
    rig = Rig(running)
    try:
        ours = InDocker(rig)
        wanted = Wanted.of_stack(json.loads(ours.run("stack", "export", timeout_s=60)))
        ours.destroy()
        floor = Floor(rig, wanted, shutil.which("nomad", path=running.env["PATH"]) or "nomad")
        contenders: tuple[Contender, ...] = (floor, ours)
        passes, started, whole = BriefPasses(rig, recorder), time.monotonic(), True
        for repetition in range(1, repetitions + 1):
            for contender in contenders:
                if time.monotonic() - started >= limit_s:
                    recorder.say("not every pass was made: the time was up")
                    return False
                whole = _one_pass(passes, contender, repetition, recorder) and whole
        return whole
    finally:
        rig.close()


def _one_pass(passes: BriefPasses, contender: Contender, repetition: int, recorder: Recorder) -> bool:
    recorder.say(f"{contender.name}, {repetition}")
    try:
        passes.run(contender, repetition)
        return True
    except Exception:  # noqa: BLE001 - whatever it is, the others go on
        recorder.say(f"the pass of {contender.name} broke off:\n{traceback.format_exc()}")
        return False
