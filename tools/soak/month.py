"""A month of a stack, in the time that there is: days by the sandbox's clock, and a drawn step after the other."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sandbox.docker import agent
from tools.faults import plan
from tools.faults.lane import Lane
from tools.faults.model import Fault
from tools.faults.runner import bring, run_step
from tools.faults.schedules.model import drawn
from tools.faults.schedules.play import Play, settle
from tools.faults.stack_settings import StackSettings
from tools.faults.table import Result
from tools.soak.sampler import Sampler
from tools.trial.namespaces import management
from tools.trial.running import eventually

DAYS: Final = 30
KEEP: Final = 7
"""Scheduled snapshots of a volume, and dumps on theirs."""
_BACKUP: Final = "mysql-backup"
_DUMP_TIMEOUT_S: Final = 240.0
_SAMPLES: Final = 240
_PERIOD_S: Final = (5.0, 60.0)


@dataclass
class Month:
    """The life of one stack, and what was seen of it."""

    length_s: float
    seed: int
    actions: Mapping[str, Fault]
    file: Path
    """Where samples go."""
    run: str
    """How they are told from those of other runs."""
    say: Callable[[str], None]
    stop: threading.Event = field(default_factory=threading.Event)
    """Set by whoever interrupts it."""
    sampler: Sampler | None = None
    results: list[Result] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """What the judge read: operations by outcome, and reads."""
    dumps: int = 0
    """Runs of the job that dumps: each makes one dump at most."""

    def fault(self) -> Fault:
        """The month, as what the runner of faults runs: on a lane that it opens and closes."""
        return Fault("a simulated month", "soak", self.live, needs="empty", may_detach_mounted="each step says")

    def live(self, lane: Lane, _draw: random.Random) -> str:
        """All days, or those until it is interrupted. AssertionError names each promise that was broken."""
        _configure(lane)
        bring(lane, "deployed")
        lane.await_plugins()
        period_s = min(max(self.length_s / _SAMPLES, _PERIOD_S[0]), _PERIOD_S[1])
        self.sampler = sampler = Sampler(lane, self.file, self.run, period_s)
        began = time.monotonic()
        sampler.begin()
        try:
            while (elapsed_s := time.monotonic() - began) < self.length_s and not self.stop.is_set():
                self._come_to_day(lane, int(elapsed_s / self.length_s * DAYS) + 1)
                self._step(lane)
            if not self.stop.is_set():
                self._come_to_day(lane, DAYS)
                self._end_day(lane)
        finally:
            sampler.end()
        assert not self.problems, "\n".join(self.problems)
        return f"{len(self.results)} steps in {sampler.day} days"

    def _come_to_day(self, lane: Lane, day: int) -> None:
        """The clock of snapshots goes on, a dump begins, and clients have new tables: the old ones are judged."""
        assert self.sampler
        days, self.sampler.day = day - self.sampler.day, day
        if not days:
            return
        lane.stack.ctl("clock", "forward", f"{days}d")
        _delete_snapshots_of_gone_volumes(lane)
        lane.writer.end()
        lane.stack.sql(lane.stack.server_endpoint(), "DROP DATABASE IF EXISTS faults")
        lane.writer.begin()
        lane.await_writes()
        self._dump(lane)

    def _step(self, lane: Lane) -> None:
        """One step that the seed draws: its own promises, and those of every step."""
        assert self.sampler
        number = len(self.results) + 1
        play = Play(drawn(self.actions, self.seed, number).until(1), self.actions)
        result = Result(number, str(play.schedule), "soak")
        run_step(lane, plan.Step(number, play.fault(), self.seed), result)
        self.results.append(result)
        self.counts += play.counts
        broken = [*result.problems, *(f"orphan: {one}" for one in result.orphans)]
        broken += [f"{len(result.lost)} acknowledged rows are missing"] if result.lost else []
        self.say(f"day {self.sampler.day}, step {number}: {'; '.join(broken) or 'right'}: {play.schedule}")
        self.problems += [f"step {number}, {play.schedule}: {one}" for one in broken]
        if broken:
            settle(lane)
        self._end_day(lane)

    def _end_day(self, lane: Lane) -> None:
        """The dump is there, Nomad has collected what a day later it would have, and everything is counted."""
        assert self.sampler
        if _dump_failed(lane):
            # One that a fault hit: its operator runs it again.
            self._dump(lane)
            assert not _dump_failed(lane), f"a dump of {_BACKUP} failed beside no fault"
        with closing(management(lane.stack)) as api:
            api.put("system/gc", {})
        lane.await_plugins()
        self.sampler.look_at_everything()

    def _dump(self, lane: Lane) -> None:
        lane.stack.nomad.put(f"job/{_BACKUP}/periodic/force", {})
        self.dumps += 1


def _configure(lane: Lane) -> None:
    """Snapshots on schedule, and dumps that are copied to S3: Nomad's clock does not move, so a day begins one."""
    settings = StackSettings.read(lane.stack_file)
    [mysql] = [one for one in settings.volumes if one["name"] == settings.database["volume"]]
    settings.volumes.append({**mysql, "name": "dumps"})
    mysql["snapshots"] = [{"name": "daily", "schedule": "0 3 * * *", "keep": KEEP}]
    s3 = {"endpoint": lane.settings.ec2_url}
    settings.database["backup"] = {"volume": "dumps", "schedule": "@yearly", "keep": KEEP, "s3": s3}
    settings.config["nomad-stateful:agentImage"] = f"{agent.REPOSITORY}:{agent.tag()}"
    settings.write(lane.stack_file)


def _dump_failed(lane: Lane) -> bool:
    """Whether the newest dump did, once all have ended."""

    def ended() -> list[dict[str, Any]] | None:
        children = lane.stack.nomad.get("jobs", prefix=f"{_BACKUP}/")
        return children if all(one["Status"] == "dead" for one in children) else None

    with lane.waits("every dump has ended", _DUMP_TIMEOUT_S):
        children = eventually(ended, _DUMP_TIMEOUT_S, "every dump has ended", lane.stack.diagnosis)
    newest = max(
        (one for one in children if one["ParentID"] == _BACKUP), key=lambda one: one["CreateIndex"], default=None
    )
    groups = newest["JobSummary"]["Summary"].values() if newest else ()
    return any(not group["Complete"] for group in groups)


def _delete_snapshots_of_gone_volumes(lane: Lane) -> None:
    """Those on schedule too, which nobody else deletes: docs/volumes.md."""
    ec2 = lane.stack.ec2
    there = {one["VolumeId"] for one in ec2.describe_volumes()["Volumes"]}
    for snapshot in ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]:
        if snapshot["VolumeId"] not in there and any(tag["Key"] == "dlm:managed" for tag in snapshot.get("Tags") or []):
            ec2.delete_snapshot(SnapshotId=snapshot["SnapshotId"])
