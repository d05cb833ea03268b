"""A whole measurement: one sandbox, everyone in turn, whatever fails is kept as failed."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tools.bench import machine, page, tables
from tools.bench.answering import Watch
from tools.bench.floor import Floor
from tools.bench.parts import Parts
from tools.bench.pulumi import Failed, Plain, Pulumi, ours
from tools.bench.recorder import Recorder
from tools.bench.rig import Rig, wait_until
from tools.bench.samples import OK
from tools.trial.ground import claim
from tools.trial.running import PROJECT, Running

# Of a pass of all, and of bringing the sandbox up, on two cores.
_PASS_S, _WARM_S = 240, 60
# With the first building of the images.
_UP_TIMEOUT_S = 1800.0
_ANSWER_TIMEOUT_S = 120.0
# Of these it is known that they leave the volume attached.
_MAY_FAIL = ("plain",)


class Contender(Protocol):
    """Brings the same stack up and takes it away, in a way of its own."""

    name: str

    def up(self) -> None:
        """From nothing; returns once this contender takes itself for done."""

    def destroy(self) -> None:
        """Takes everything away again."""

    def forget(self) -> None:
        """Drops what it remembers, after others have taken everything away by hand."""


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    repetitions: int
    results: Path
    limit_s: float
    official: Path | None


def run(plan: Plan) -> bool:
    """Measures everything and writes the results; says whether anything failed that should not."""
    plan.results.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(plan.results / page.SAMPLES)
    minutes = plan.repetitions * (_PASS_S + _WARM_S) / 60
    recorder.say(f"about {minutes:.0f} minutes; no pass starts after {plan.limit_s / 60:.0f}")
    folder = Path(tempfile.mkdtemp(prefix="nomad-stateful-bench-"))
    running = Running.prepare(folder / "project", claim())
    complete = False
    try:
        complete = _in_sandbox(plan, running, recorder)
    finally:
        recorder.say("taking the sandbox down")
        remove(running, folder, recorder)
    print(f"\n{tables.cases(recorder.samples)}\n\nfailed:\n{tables.failures(recorder.samples)}", flush=True)
    wrong = [sample for sample in recorder.samples if sample.outcome != OK and sample.contender not in _MAY_FAIL]
    return bool(wrong) or not complete


def _in_sandbox(plan: Plan, running: Running, recorder: Recorder) -> bool:
    started = time.monotonic()
    up = False
    for repetition in range(1, plan.repetitions + 1):
        if repetition > 1:
            running.sandbox("down", "--force")
        up = recorder.time("make up, warm", "ours", "all", repetition, lambda: _bring_up(plan, running))
    if not up:
        recorder.say("the sandbox is not up: nothing else can be measured")
        return False
    running.enter_env()
    rig = Rig(running)
    try:
        contenders = _contenders(rig)
        facts = machine.facts(running, rig.settings)
        names = ", ".join(contender.name for contender in contenders)
        _write_machine(plan.results, facts | {"repetitions": f"{plan.repetitions}, {names} in turn"})
        whole = True
        for repetition in range(1, plan.repetitions + 1):
            for contender in contenders:
                in_time = time.monotonic() - started < plan.limit_s
                whole = in_time and _tried(rig, recorder, contender, repetition) and whole
        if not whole:
            recorder.say("not every pass was made: one broke off, or the time was up")
        return whole
    finally:
        rig.close()


def _bring_up(plan: Plan, running: Running) -> None:
    """What `make up` does. The bootstrap is the project's own: a copy's virtual environment is a link to it."""
    subprocess.run([PROJECT / "tools/bootstrap.sh"], capture_output=True, check=True)
    words = [] if plan.official is None else ["--official", str(plan.official.resolve())]
    done = running.sandbox("up", *words, timeout_s=_UP_TIMEOUT_S)
    if done.returncode != 0:
        errors = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line.lower()]
        raise Failed(f"failed: {(errors or [f'status {done.returncode}'])[-1].strip()[:160]}")


def _contenders(rig: Rig) -> list[Contender]:
    """Everyone, with the same parts as the stack that is up, which is destroyed."""
    program = ours(rig)
    parts = Parts.of_stack(json.loads(program.run("stack", "export", timeout_s=60)))
    parts.save(rig.running.project / "tools/bench/plain/parts.json")
    plain = Plain(rig)
    plain.prepare()
    nomad = shutil.which("nomad", path=rig.running.env["PATH"]) or "nomad"
    floor = Floor(rig, parts, nomad)
    program.destroy()
    return [floor, plain, program]


def _tried(rig: Rig, recorder: Recorder, contender: Contender, repetition: int) -> bool:
    recorder.say(f"{contender.name}, {repetition}")
    try:
        one_pass(rig, recorder, contender, repetition)
        return True
    except Exception:  # noqa: BLE001 - whatever it is, the others go on
        recorder.say(f"the pass of {contender.name} broke off:\n{traceback.format_exc()}")
        return False


def one_pass(rig: Rig, recorder: Recorder, contender: Contender, repetition: int) -> None:
    """From nothing to MySQL answering, a second time without a change, and to nothing; the next starts from nothing."""
    rig.sweep()
    rig.forget_plugin()
    with Watch(rig.mysql_addresses, rig.password) as watch:
        up = recorder.answered("up", contender.name, repetition, contender.up, lambda: watch.seconds(_ANSWER_TIMEOUT_S))
    try:
        if up and isinstance(contender, Pulumi):
            recorder.time("preview", contender.name, "command", repetition, contender.preview)
            recorder.time("up without a change", contender.name, "command", repetition, contender.up)
    finally:
        _destroy(rig, recorder, contender, repetition, measured=up)


def _destroy(rig: Rig, recorder: Recorder, contender: Contender, repetition: int, *, measured: bool) -> None:
    def until_nothing_is_left() -> None:
        contender.destroy()
        wait_until("nothing is left", lambda: not rig.left(), 60)

    if measured and recorder.time("destroy", contender.name, "nothing left", repetition, until_nothing_is_left):
        return
    recorder.say(f"sweeping up by hand what {contender.name} left: {', '.join(rig.left()) or 'nothing'}")
    rig.sweep()
    contender.forget()


def remove(running: Running, folder: Path, recorder: Recorder) -> None:
    """Takes the sandbox down and removes the folder; keeps it where something may still be mounted below."""
    down = running.sandbox("down", "--force")
    if down.returncode == 0:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        recorder.say(f"kept {folder}: the sandbox in it could not be taken down:\n{down.stderr.strip()}")


def _write_machine(results: Path, facts: dict[str, str]) -> None:
    (results / page.MACHINE).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
