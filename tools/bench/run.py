"""A whole measurement: one sandbox, everyone in turn, whatever fails is kept as failed."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from tools.bench import bringing_up, machine, page, tables
from tools.bench.contender import Contender
from tools.bench.costs import Costs
from tools.bench.floor import Floor
from tools.bench.passes import Passes
from tools.bench.pulumi import Engine, Ours, Plain
from tools.bench.recorder import Recorder
from tools.bench.rig import Rig
from tools.bench.samples import OK
from tools.bench.taking_down import remove
from tools.bench.terraform.contender import Terraform
from tools.bench.wanted import Wanted
from tools.trial.ground import Ground
from tools.trial.running import Running

GROUND = Ground("nbn", IPv4Network("10.173.150.0/24"))
# Of a pass, and of bringing the sandbox up, on two cores.
_ROUGHLY_S = {"floor": 60, "plain": 120, "terraform": 120, "engine": 10, "ours": 140}
_WARM_S, _COLD_S, _COSTS_S = 60, 420, 120
# Of these it is known that they leave the volume attached.
_MAY_FAIL = ("plain",)


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    repetitions: int
    contenders: Sequence[str]
    results: Path
    idle_s: float
    limit_s: float
    cold: bool
    terraform_plugins: Path | None
    official: Path | None

    @property
    def rough_s(self) -> float:
        """About how long it takes."""
        passes = self.repetitions * sum(_ROUGHLY_S[name] for name in self.contenders)
        return passes + self.repetitions * _WARM_S + self.cold * _COLD_S + _COSTS_S + self.idle_s


def run(plan: Plan) -> bool:
    """Measures everything and writes the results; says whether anything failed that should not."""
    plan.results.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(plan.results / page.SAMPLES, keep="" if plan.cold else bringing_up.COLD)
    recorder.say(f"about {plan.rough_s / 60:.0f} minutes; no pass starts after {plan.limit_s / 60:.0f}")
    if plan.cold:
        bringing_up.cold(recorder, GROUND)
    folder = Path(tempfile.mkdtemp(prefix="nomad-stateful-bench-"))
    running = Running.prepare(folder / "project", GROUND)
    complete = False
    try:
        complete = _in_sandbox(plan, running, recorder)
    finally:
        recorder.say("taking the sandbox down")
        remove(running, folder, recorder.say)
    print(f"\n{tables.cases(recorder.samples)}\n\nfailed:\n{tables.failures(recorder.samples)}", flush=True)
    wrong = [one for one in recorder.samples if one.outcome != OK and one.contender not in _MAY_FAIL]
    return bool(wrong) or not complete


def _in_sandbox(plan: Plan, running: Running, recorder: Recorder) -> bool:
    started = time.monotonic()
    up = False
    for repetition in range(1, plan.repetitions + 1):
        if repetition > 1:
            running.sandbox("down", "--force")
        up = bringing_up.warm(running, recorder, repetition, *_official(plan))
    if not up:
        recorder.say("the sandbox is not up: nothing else can be measured")
        return False
    running.enter_env()
    rig = Rig(running)
    try:
        _write_machine(plan, machine.facts(running, rig.settings))
        ours = Ours(rig)
        contenders = _contenders(plan, rig, ours)
        ours.destroy()
        passes = Passes(rig, recorder)
        whole = True
        for repetition in range(1, plan.repetitions + 1):
            for contender in contenders:
                in_time = time.monotonic() - started < plan.limit_s
                whole = in_time and _one_pass(passes, contender, repetition, recorder) and whole
        if not whole:
            recorder.say("not every pass was made: one broke off, or the time was up")
        return _costs(plan, rig, ours, recorder) and whole
    finally:
        rig.close()


def _official(plan: Plan) -> list[str]:
    return [] if plan.official is None else ["--official", str(plan.official.resolve())]


def _contenders(plan: Plan, rig: Rig, ours: Ours) -> list[Contender]:
    wanted = Wanted.of_stack(json.loads(ours.run("stack", "export", timeout_s=60)))
    nomad = shutil.which("nomad", path=rig.running.env["PATH"]) or "nomad"
    plain = Plain(rig)
    wanted.save(rig.running.project / "tools/bench/plain/wanted.json")
    engine = Engine(rig)
    for made in (plain, engine):
        made.prepare()
    floor = Floor(rig, wanted, nomad)
    known: dict[str, Contender] = {one.name: one for one in (floor, plain, engine, ours)}
    if plan.terraform_plugins is not None:
        known["terraform"] = Terraform(rig, wanted, nomad, plan.terraform_plugins)
    return [known[name] for name in plan.contenders if name in known]


def _one_pass(passes: Passes, contender: Contender, repetition: int, recorder: Recorder) -> bool:
    recorder.say(f"{contender.name}, {repetition}")
    try:
        passes.run(contender, repetition)
        return True
    except Exception:  # noqa: BLE001 - whatever it is, the others go on
        recorder.say(f"the pass of {contender.name} broke off:\n{traceback.format_exc()}")
        return False


def _costs(plan: Plan, rig: Rig, ours: Ours, recorder: Recorder) -> bool:
    recorder.say(f"counting requests; {plan.idle_s:.0f} s of it idle")
    try:
        Costs(rig, recorder, plan.idle_s).run(ours, plan.results / page.REQUESTS)
        return True
    except Exception:  # noqa: BLE001 - whatever it is, the others go on
        recorder.say(f"the counting broke off:\n{traceback.format_exc()}")
        return False


def _write_machine(plan: Plan, facts: dict[str, str]) -> None:
    named = {**facts, "repetitions": f"{plan.repetitions}, {', '.join(plan.contenders)} in turn"}
    (plan.results / page.MACHINE).write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")
