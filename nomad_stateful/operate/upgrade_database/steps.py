"""The upgrade, and what is done where it fails: the server of before comes back only on files that no other touched."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from nomad_stateful.ebs.tags import FIRST, MOVE_TAG, upgrade_tag
from nomad_stateful.nomad.api import NomadError
from nomad_stateful.nomad.commands import scope
from nomad_stateful.operate import stack
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.dumps import restoring
from nomad_stateful.operate.engine import Engine, EngineError, StackLockedError, other_changes
from nomad_stateful.operate.errors import OperateError, TimedOutError
from nomad_stateful.operate.progress import say
from nomad_stateful.operate.snapshots import Snapshots
from nomad_stateful.operate.upgrade_database import wanted
from nomad_stateful.operate.upgrade_database.plan import Plan
from nomad_stateful.operate.upgrade_database.probe import Probe
from nomad_stateful.operate.upgrade_database.server import Absence, Server
from nomad_stateful.waiting import Stopwatch


class WentBackError(OperateError):
    """The new version never ran; the one before does, and the settings are as they were."""

    exit_status = 5


class StoppedError(OperateError):
    """The new version does not come up on files that it may have changed: an operator decides."""

    exit_status = 6

    def __init__(self, text: str, snapshot_id: str, commands: list[str]) -> None:
        super().__init__(text)
        self.snapshot_id = snapshot_id
        self.commands = commands


@dataclass
class Upgrade:
    """One upgrade on its way."""

    engine: Engine
    server: Server
    volume: str
    plan: Plan
    timeout_s: float
    probe_timeout_s: float
    snapshot_timeout_s: float
    refuse_lost: Callable[[], None] = lambda: None
    """Raises where another command changes the stack after all."""
    snapshot_id: str = field(default="", init=False)
    _tables: frozenset[str] | None = field(default=None, init=False)
    _locked: Stopwatch | None = field(default=None, init=False)

    @property
    def title(self) -> str:
        """The server's name for people."""
        return self.server.kind.title

    def run(self) -> dict[str, Any]:
        """Does what is left to be done; the result for scripts. Raises OperateError and ProviderError."""
        took, plan = Stopwatch(), self.plan
        self.snapshot_id = plan.snapshot_id
        if plan.phase == "begin":
            self._probe()
            self._tables = self.server.tables()
        absence = Absence(self.server, plan.after)
        with ExitStack() as held:
            if plan.phase == "begin":
                self._hold(held)
            held.enter_context(absence.watched())
            self._change()
            self._await("")
        return self._result(absence, took.seconds)

    def _hold(self, held: ExitStack) -> None:
        """Takes the snapshot, with all that the server of before acknowledges until it ends. Raises OperateError."""
        snapshots = Snapshots(self.volume)
        if not self.server.database.holds_writes:
            self._refuse_changed()
            self._refuse_other_changes()
            self._snapshot(snapshots)
            self._refuse_changed()
            return
        first = self._first(snapshots)
        self._refuse_changed()
        self._refuse_other_changes()
        refuse_ended = self._hold_writes(held)
        self._snapshot(snapshots)
        # Reads go on meanwhile, and whatever stops the server ends the session that holds the writes.
        try:
            refuse_ended()
        except self.server.database.errors as error:
            raise OperateError(
                f"the session that held {self.title}'s writes has ended ({error}): rows may have been acknowledged "
                f"that {self.snapshot_id} has not. Nothing was changed. Run the same command again"
            ) from error
        self._refuse_changed()
        snapshots.drop(first)

    def _first(self, snapshots: Snapshots) -> str:
        say(f"==> a first snapshot while {self.title} runs on, so that the last one is short")
        first = snapshots.begin(
            f"{self.volume} before the snapshot for {self.title} {self.plan.after}", {MOVE_TAG: FIRST}
        )
        remedy = "Nothing was changed. A longer --timeout waits longer."
        snapshots.await_complete(first, self.timeout_s, remedy)
        return first

    def _refuse_changed(self) -> None:
        """Looks again before each act: raises where the server is another, or somebody else works on the stack."""
        self.refuse_lost()
        self.engine.refuse_locked()
        if (image := self.server.image()) != self.plan.images.before:
            raise OperateError(
                f"job {self.server.job_id} has {image} now: somebody else changes it. Nothing was changed. Run the "
                "same command again after that"
            )
        if left := restoring(self.server.nomad, stack.database_outputs()):
            raise OperateError(left)

    def _refuse_other_changes(self) -> None:
        """Looks again at what the update changes: the answer, the trial and the first snapshot may have taken hours."""
        if others := other_changes(self.engine, self.plan.images.settings, self.plan.changes):
            raise OperateError(others)

    def _probe(self) -> None:
        at = self.server.endpoint()
        if at is None or self.plan.job is None:
            raise OperateError(f"job {self.server.job_id} does not run any more. Nothing was changed")
        say(f"==> trying {self.plan.images.after} on {at.node_name}: pulled, its version, the options; it runs on")
        Probe(self.server.nomad, self.server.kind, self.plan.job, at.node_id, self.probe_timeout_s).run(self.plan.after)

    def _hold_writes(self, held: ExitStack) -> Callable[[], None]:
        """Has writes wait until the server of before ends; gives what raises where they do not wait any more."""
        at = self.server.endpoint()
        if at is None:
            raise OperateError(f"job {self.server.job_id} does not run any more. Nothing was changed")
        self._locked = Stopwatch()
        try:
            refuse_ended = held.enter_context(self.server.database.read_only(at))
        except self.server.database.errors as error:
            raise OperateError(
                f"{self.title} at {at.host}:{at.port} did not block its writes: {error}. Nothing was changed. A long "
                "query may hold it up; run the same command again"
            ) from error
        say("==> writes wait")
        return refuse_ended

    def _snapshot(self, snapshots: Snapshots) -> None:
        plan = self.plan
        mark = {upgrade_tag(self.server.kind.name): f"{plan.before} {plan.after} {plan.images.before}"}
        text = f"{self.volume} before {self.title} {plan.before} becomes {plan.after}"
        self.snapshot_id = snapshots.begin(text, mark)
        remedy = "Writes go on, and nothing was changed. A longer --snapshot-timeout waits longer."
        snapshots.await_complete(self.snapshot_id, self.snapshot_timeout_s, remedy)
        say(f"==> {self.snapshot_id} is complete, and has {self._has()}")

    def _change(self) -> None:
        """Has the settings name the new image, and updates the stack. Raises OperateError."""
        plan = self.plan
        say(f"==> the settings get {', '.join(f'{path} = {value}' for path, value in plan.images.settings.items())}")
        try:
            self.engine.set(plan.images.settings)
            self.engine.up(f"{self.title} gets {plan.after}", refresh=plan.phase == "await")
        except StackLockedError as error:
            if plan.phase == "begin":
                self.engine.set(plan.images.earlier)
            raise OperateError(f"{error}. Nothing was changed, and writes go on") from error
        except EngineError as error:
            self._failed(error)

    def _failed(self, error: EngineError) -> None:
        """Returns where the new server came up after all. Raises WentBackError or StoppedError."""
        plan = self.plan
        say(f"FAILED: {error}")
        started = self.server.has_started(plan.images.after)
        if self.server.image() == plan.images.before:
            self._go_back(f"the update failed before it changed {self.title} ({error})", revert=False)
        if started is False or (started is None and plan.phase == "begin"):
            why = f"{self.title} {plan.after} never started ({self.server.events()})"
            if self._started_at_last():
                say(f"{self.title} {plan.after} started late, and its job is stopped now")
                raise self._stopped()
            self._go_back(why, revert=True)
        # A large one still works on its start longer than an update waits.
        self._await(" (it has run without an end since its start)", self.server.runs)
        self.engine.up("what is left of it", refresh=True)

    def _started_at_last(self) -> bool:
        """Stops the new server's job, and returns whether it was on the volume after all, pulled meanwhile."""
        try:
            # A client that pulls an image ends its allocation only after that.
            self.server.stop(self.timeout_s)
            return bool(self.server.has_started(self.plan.images.after))
        except (NomadError, OperateError) as error:
            raise OperateError(
                f"{self.title} {self.plan.after} never started, and whether it still can is not known: {error}. Run "
                "the same command again to resume"
            ) from error

    def _go_back(self, why: str, *, revert: bool) -> None:
        """Brings the image of before back, whose files nothing touched. Raises WentBackError, OperateError."""
        plan = self.plan
        say(f"going back to {plan.images.before}: no other server was on the volume")
        try:
            if revert:
                self.server.revert(plan.images.before)
            self.engine.set(plan.images.earlier)
            self.engine.up(f"{self.title} gets {plan.before} back", refresh=True)
        except (NomadError, OperateError) as error:
            at = f"{scope(self.server.namespace)} {self.server.job_id}"
            raise OperateError(
                f"{why}, and so did the way back: {error}. No other server was on the volume: set "
                f"{self.server.kind.name}.image to {plan.images.before}, and run `nomad job revert{at} VERSION` "
                f"(`nomad job history{at}`) and `pulumi up --refresh`"
            ) from error
        raise WentBackError(f"{why}. {self.title} {plan.before} runs again, and nothing was lost")

    def _await(self, what: str, goes_on: Callable[[], bool] = lambda: True) -> None:
        """Waits until the server answers as the new version, while it goes on. Raises StoppedError."""

        def probe() -> bool:
            if self.server.version() == self.plan.after:
                return True
            if not goes_on():
                raise self._stopped()
            return False

        try:
            wait_for(f"{self.title} {self.plan.after} answers{what}", probe, self.timeout_s, "")
        except TimedOutError as error:
            raise self._stopped() from error

    def _stopped(self) -> StoppedError:
        plan = self.plan
        config, before = self.engine.config(), str(plan.before)
        commands = wanted.way_back(config, plan.images, self.snapshot_id, before, stack.chosen())
        log = f"nomad alloc logs -stderr -job{scope(self.server.namespace)} {self.server.job_id}"
        text = [
            f"{self.title} {plan.after} started and does not come up: {self.server.events()}",
            f"  `{log}` says why. Fix the cause",
            "  (memory, disk, an option), then run the same command to resume.",
            f"  It may have changed the files, so {plan.before} is not put back on them: it cannot read them.",
            f"  The way back is {self.snapshot_id}, on a new volume; it has {self._has()}:",
            *(f"    {command}" for command in commands),
        ]
        return StoppedError("\n".join(text), self.snapshot_id, commands)

    def _has(self) -> str:
        before = self.plan.before
        if self.plan.phase == "begin" and self.server.database.holds_writes:
            return f"all that {before} acknowledged"
        # The command that took it was cut off, and its session with it, or the server cannot hold its writes.
        return f"what {before} acknowledged until it was begun"

    def _result(self, absence: Absence, took_s: float) -> dict[str, Any]:
        if left := self.engine.pending():
            raise OperateError(f"{self.title} {self.plan.after} runs, and the next preview is not empty:\n{left}")
        tables = self.server.tables()
        if self._tables is not None and (missing := self._tables - tables):
            raise OperateError(
                f"{self.title} {self.plan.after} runs, and lacks the tables {', '.join(sorted(missing))}, which were "
                f"there before. {self.snapshot_id} has them: docs/volumes.md, Restore"
            )
        back, locked = absence.back, self._locked
        return {
            "ok": True,
            "job": self.server.job_id,
            "from": str(self.plan.before),
            "to": str(self.plan.after),
            "image": self.plan.images.after,
            "snapshotId": self.snapshot_id,
            "writesWaitedS": round(locked.seconds - back.seconds, 1) if back and locked else None,
            "awayS": round(absence.away_s, 1),
            "tables": len(tables),
            "dictionary": self.server.dictionary(),
            "seconds": round(took_s, 1),
        }
