"""`python -m tools.bench.failover`: from the loss of MySQL's instance to the first acknowledged row elsewhere.

A sandbox of its own (root is needed) with a writer on its MySQL and the faults' watch on its mounts. Every loss is made
in turn and repaired. Where the instance would never let go of its volume and no watcher fences it,
`nomad-stateful recover --fence --yes` is run the moment
Nomad calls its client down, as by a person who is there. Fails when two instances ever
have the volume mounted, when an acknowledged row is missing, and when EC2 is asked to detach a volume that is mounted
where nobody may ask.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import tempfile
from pathlib import Path
from typing import Final

from sandbox.docker import agent
from tools.bench import page
from tools.bench.failover import losses, results
from tools.bench.failover.losses import Loss
from tools.bench.failover.results import MOMENTS, NOT_SEEN, SETTINGS, Failover
from tools.bench.failover.watch import JOB, Watch
from tools.faults.lane import Lane, open_lane
from tools.faults.runner import bring
from tools.faults.writer import Writer
from tools.trial.call_record import Calls, detached_while_mounted
from tools.trial.ground import claim
from tools.trial.instances import instance_of
from tools.trial.running import eventually

TIMEOUT_S: Final = 480.0
_WATCHERS: Final = {"watched": ("failover",), "fenced": ("failover", "--fence")}
_TIMES: Final = re.compile(r"(?m)^    stopAfterDisconnect: .*\n")
_DEPLOYED: Final = {
    "deployed": "{ count: 2 }",
    "deployed-fenced": "{ count: 2, fence: true }",
}
_CHOSEN: Final = {
    "earlier": "    killTimeout: 60s\n    stopAfterDisconnect: 2m\n",
    "short": "    killTimeout: 10s\n    stopAfterDisconnect: 30s\n",
}


def configure(text: str, settings: str) -> str:
    """The stack's file with the times that are measured, in place of the sandbox's shorter ones."""
    text, changed = _TIMES.subn(_CHOSEN.get(settings, ""), text)
    if changed != 1:
        raise AssertionError(f"the stack's file sets stopAfterDisconnect {changed} times")
    if settings in _DEPLOYED:
        image = f"{agent.REPOSITORY}:{agent.tag()}"
        text += f"  nomad-stateful:failover: {_DEPLOYED[settings]}\n  nomad-stateful:agentImage: {image}\n"
    return text


def measure(lane: Lane, settings: str, loss: Loss, repetition: int) -> Failover:
    """One loss, from the stack in order to the stack in order. AssertionError when MySQL does not come back."""
    _await_no_evaluation(lane)
    at = lane.stack.server_endpoint()
    watch = Watch(lane, at, instance_of(lane.stack, at.node_name))
    calls, doubled = Calls(lane.call_log), len(lane.mounts.violations)
    watch.lost_at = loss.strike(lane, at.node_name)
    watch.begin()
    try:
        if not loss.ends_by_itself and "fenced" not in settings:
            _fence_once_down(lane, watch)
        with lane.waits(f"a row elsewhere, after {loss.name}", TIMEOUT_S):
            eventually(
                lambda: watch.moments.get("acknowledged_s"),
                TIMEOUT_S,
                "MySQL acknowledges a row elsewhere",
                lane.stack.diagnosis,
            )
    finally:
        watch.end()
    losses.repair(loss, lane, at.node_name)
    return Failover(
        settings,
        loss.name,
        repetition,
        **{name: watch.moments.get(name, NOT_SEEN) for name in MOMENTS},
        lost_rows=len(lane.writer.lost()),
        second_writers=len(lane.mounts.violations) - doubled,
        detached_while_mounted=len(detached_while_mounted(calls.read())),
    )


def _await_no_evaluation(lane: Lane) -> None:
    """Waits until Nomad has made up for the last loss: its delayed evaluation would end the wait of the next one."""
    what = "no evaluation of MySQL's job is pending"
    with lane.waits(what, TIMEOUT_S):
        eventually(
            lambda: all(one["Status"] != "pending" for one in lane.stack.nomad.get(f"job/{JOB}/evaluations")) or None,
            TIMEOUT_S,
            what,
        )


def _fence_once_down(lane: Lane, watch: Watch) -> None:
    eventually(lambda: watch.moments.get("down_s"), TIMEOUT_S, "Nomad calls the client down")
    lane.start(lane.stack.python, "-m", "nomad_stateful.operate", "recover", "mysql", "--fence", "--yes")


def wrong(one: Failover, loss: Loss) -> list[str]:
    """What must never be."""
    found = []
    if one.second_writers:
        found.append(f"{one.loss}: two instances had the volume mounted, {one.second_writers} times")
    if one.lost_rows:
        found.append(f"{one.loss}: {one.lost_rows} acknowledged rows are missing")
    if one.detached_while_mounted and not loss.may_detach_mounted:
        found.append(f"{one.loss}: EC2 was asked to detach a volume that was mounted")
    return found


def run(settings: str, chosen: list[Loss], repetitions: int, folder: Path) -> list[str]:
    """Measures and writes after each loss; gives what was wrong."""
    measured: list[Failover] = []
    problems: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="nomad-stateful-failover-") as home,
        open_lane(0, claim(), Path(home)) as lane,
    ):
        # Nothing but rows is written, as in every measurement so far.
        lane.writer = Writer(lane.database, lane.histories)
        lane.stack_file.write_text(configure(lane.stack_file.read_text(encoding="utf-8"), settings), encoding="utf-8")
        bring(lane, "deployed")
        if words := _WATCHERS.get(settings):
            lane.start(lane.stack.python, "-m", "nomad_stateful.operate", *words)
        for repetition in range(1, repetitions + 1):
            for loss in chosen:
                one = measure(lane, settings, loss, repetition)
                print(one, file=sys.stderr, flush=True)
                measured.append(one)
                problems += wrong(one, loss)
                results.write(folder, settings, measured)
        if not lane.mounts.seen:
            problems.append("the watch on the mounts saw no volume mounted")
    return problems


def main() -> int:
    """1 when something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.failover", description=__doc__)
    parser.add_argument("--settings", choices=SETTINGS, default="defaults")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--losses", nargs="+", choices=results.LOSSES, default=list(results.LOSSES))
    parser.add_argument("--results", type=Path, default=page.RESULTS)
    known = parser.parse_args()
    # So that an end by a signal takes the sandbox down too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    chosen = [loss for loss in losses.ALL if loss.name in known.losses]
    problems = run(known.settings, chosen, known.repetitions, known.results)
    print(results.table(results.read(known.results)))
    print("\n".join(problems), file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
