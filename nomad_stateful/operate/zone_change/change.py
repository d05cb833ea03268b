"""The change of zone, step by step; each step is repeated or skipped by what is found."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.ebs.ec2_client import AwsPlace, refuse_another_account
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import volume_path
from nomad_stateful.operate import ownership
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.engine import Engine, EngineError, StackLockedError
from nomad_stateful.operate.zone_change import consumers, loss
from nomad_stateful.operate.zone_change.consumers import Consumers
from nomad_stateful.operate.zone_change.copies import Copies, LastCopy, refuse_impossible
from nomad_stateful.operate.zone_change.loss import Loss
from nomad_stateful.operate.zone_change.situation import (
    Phase,
    Setting,
    Stored,
    ZoneChangeError,
    phase,
    setting,
    stored,
    way_back,
)
from nomad_stateful.waiting import Stopwatch

_LOCKED_S = 3600.0
_LOCKED_POLL_S = 5.0


@dataclass(frozen=True)
class Wanted:
    """What was asked for."""

    volume: str
    zone: str
    lost: bool = False
    """Whether the zone that the volume is in is lost."""
    snapshot_id: str = ""
    """Snapshot to go on from, where the zone is lost; by default the newest."""
    max_loss_min: float | None = None
    timeout_s: float = 3600


@dataclass(frozen=True)
class Plan:
    """What is going to be done, and what it costs."""

    phase: Phase
    setting: Setting
    known: Stored
    jobs: tuple[str, ...]
    loss: Loss | None = None
    """Of a lost zone."""
    also: str = ""
    """Of a lost zone: what else the stack has to change, and changes along."""


@dataclass
class ZoneChange:
    """One volume's way to another zone."""

    engine: Engine
    nomad: NomadApi
    place: AwsPlace
    wanted: Wanted
    refuse_lost: Callable[[], None] = lambda: None
    """Raises where another command changes the stack after all."""
    _resumed: bool = field(default=False, init=False)
    ebs: EbsVolumes = field(init=False)
    _last: LastCopy = field(init=False)

    def __post_init__(self) -> None:
        self.ebs = EbsVolumes(self.place)
        self._last = LastCopy(self)

    def look(self) -> tuple[Setting, Stored]:
        """Returns settings and state as they are now, in the stack's own cluster and account.

        Raises OperateError and ProviderError.
        """
        self.refuse_lost()
        name, state = self.wanted.volume, self.engine.state()
        ownership.refuse_another(self.nomad, state)
        refuse_another_account(self.place, f"volume {name}")
        return setting(self.engine.config(), name), stored(state.get("resources") or [], name)

    def plan(self) -> Plan:
        """Checks everything that can be checked before something changes. Raises ZoneChangeError."""
        now, known = self.look()
        following = phase(now, known, self.wanted.zone)
        using = self.consumers(known)
        jobs = tuple(str(job["ID"]) for job in using.jobs())
        if following != "done":
            self._check_place(known, using)
        if following in ("begin", "prepare", "stop"):
            self._check_cluster(known)
        also = self._others() if following == "begin" else ""
        return Plan(following, now, known, jobs, self._loss(following, now, known), also)

    def _check_cluster(self, known: Stored) -> None:
        """Raises ZoneChangeError where Nomad has not the stack's volume: in another cluster every zone looks lost."""
        found = self.nomad.find(volume_path(self.wanted.volume), namespace=known.namespace) or {}
        if (there := found.get("ExternalID")) != known.volume_id:
            raise ZoneChangeError(
                f"volume {self.wanted.volume} is {known.volume_id} in the stack, and {there or 'not registered'} in "
                f"namespace {known.namespace} of this Nomad cluster: it is another cluster, or an `up` has not ended. "
                "Check NOMAD_ADDR and --stack, or run `pulumi up`"
            )

    def _check_place(self, known: Stored, using: Consumers) -> None:
        zone, there = self.wanted.zone, clients.read(self.nomad)
        loss.refuse_unusable(there, zone, known.plugin_id)
        if others := using.other_volumes(zone):
            raise ZoneChangeError(
                f"--zone {zone}: a job that uses volume {self.wanted.volume} also uses {', '.join(others)}, which "
                "cannot be reached from there, and all its volumes have to be in one zone. Give each a job of its "
                "own first"
            )
        if strange := consumers.foreign(using.jobs(), known.job_ids):
            raise ZoneChangeError(
                f"job {', '.join(strange)} uses volume {self.wanted.volume} and is not this stack's: nothing would "
                f"start it again. Stop it (`nomad job stop{using.scope} {strange[0]}`), and run the same command again"
            )
        if not self.wanted.lost:
            using.refuse_runs()
        if known.zone != zone and not self.wanted.lost and not any(one.zone == known.zone for one in there):
            advice = "if it is lost, see `nomad-stateful failover`"
            print(f"    no Nomad client is in {known.zone}: {advice}", file=sys.stderr)

    def _loss(self, following: Phase, now: Setting, known: Stored) -> Loss | None:
        """Returns what is lost, or was when the volume was given up; None where the zone is not said to be lost.

        Raises ZoneChangeError where the zone is there, or no snapshot.
        """
        wanted = self.wanted
        if not wanted.lost:
            return None
        if known.zone == wanted.zone:
            return loss.of_begun(self.place, wanted.volume, known, wanted.snapshot_id)
        lost_at = loss.lost_at(clients.read(self.nomad), known.zone)
        snapshot = wanted.snapshot_id or (now.snapshot_id if following == "switch" else "")
        return loss.expected(self.copies(known), known, lost_at, snapshot, wanted.max_loss_min)

    def run(self, plan: Plan) -> dict[str, Any]:
        """Does what is left to be done; the result for scripts. Raises OperateError and ProviderError."""
        took, self._resumed = Stopwatch(), plan.phase not in ("begin", "done")
        steps = {"begin": self._begin, "prepare": self._prepare, "stop": self._stop, "switch": self._switch}
        done: Phase | None = None
        while True:
            now, known = self.look()
            following = phase(now, known, self.wanted.zone)
            if following == "done":
                return self._result(known, plan, took)
            if following == done:
                raise ZoneChangeError(
                    f"volume {self.wanted.volume} is where it was before the last step ({following}), though that did "
                    "not fail: somebody else changes the stack or its settings. Run the same command again after that"
                )
            try:
                steps[following](now, known, plan)
            except StackLockedError as error:
                if following != "switch":
                    raise
                # Everything is stopped. Whoever has the lock may start it: it is looked at anew.
                self._await_unlocked(error)
                continue
            done = following

    def _await_unlocked(self, error: StackLockedError) -> None:
        print(f"    {error}", file=sys.stderr, flush=True)

        def probe() -> bool:
            try:
                self.engine.refuse_locked()
            except StackLockedError:
                return False
            return True

        wait_for("the stack's lock is free", probe, _LOCKED_S, "Run the same command again then.", _LOCKED_POLL_S)

    def _others(self) -> str:
        """Returns the stack's other changes. Raises ZoneChangeError unless the zone is lost."""
        pending = self.engine.pending()
        if pending and not self.wanted.lost:
            raise ZoneChangeError(
                f"the stack has other pending changes, which this update would also apply:\n{pending}\nRun "
                "`pulumi up`, or revert them, and run the same command again"
            )
        return pending

    def _begin(self, now: Setting, _known: Stored, _plan: Plan) -> None:
        if not self.wanted.lost:
            self._others()
        self.engine.set({f"{now.path}.moveTo": self.wanted.zone})

    def _prepare(self, _now: Setting, known: Stored, _plan: Plan) -> None:
        self.engine.up(f"lets volume {self.wanted.volume} leave {known.zone}", refresh=self._resumed)

    def _stop(self, now: Setting, known: Stored, plan: Plan) -> None:
        if self.wanted.lost:
            snapshot_id = self._give_up(now, known, plan)
        else:
            snapshot_id = self._last.take(now, known, known.volume_id)
        self.engine.set({f"{now.path}.zone": self.wanted.zone, f"{now.path}.snapshotId": snapshot_id})

    def _give_up(self, now: Setting, known: Stored, plan: Plan) -> str:
        assert plan.loss is not None  # noqa: S101 - of a lost zone
        zone, snapshot_id = self.wanted.zone, plan.loss.snapshot
        refuse_impossible(self.place, self.wanted.volume, known.volume_id, zone, snapshot_id)
        self.refuse_changed(now, known)
        self.engine.refuse_locked()
        loss.refuse_back(self.nomad, known, zone)
        self.copies(known).give_up()
        self.consumers(known).stop(f"its zone {known.zone} is lost", await_attachable_s=0)
        return snapshot_id

    def refuse_changed(self, now: Setting, known: Stored) -> None:
        """Raises ZoneChangeError where settings, state or jobs do not allow it any more: look before each act."""
        if self.look() != (now, known):
            raise ZoneChangeError(
                f"settings or state of volume {self.wanted.volume} have changed meanwhile: somebody else changes the "
                "stack. Nothing is stopped. Run the same command again after that"
            )
        self._check_place(known, self.consumers(known))

    def _switch(self, now: Setting, known: Stored, plan: Plan) -> None:
        if self.wanted.lost:
            loss.refuse_back(self.nomad, known, self.wanted.zone)
            if plan.loss and known.zone != self.wanted.zone and plan.loss.snapshot != now.snapshot_id:
                self.engine.set({f"{now.path}.snapshotId": plan.loss.snapshot})
        elif (snapshot_id := self._last.renewed(now, known)) != now.snapshot_id:
            self.engine.set({f"{now.path}.snapshotId": snapshot_id})
        try:
            self.engine.up(f"makes volume {self.wanted.volume} in {self.wanted.zone}", refresh=self._resumed)
        except EngineError as error:
            if self.wanted.lost or isinstance(error, StackLockedError):
                raise
            after, there = self.look()
            raise ZoneChangeError(f"{error}. {way_back(after, there, self.wanted.zone)}") from error
        # Last the one by which a repeated command knows where to resume.
        if now.snapshot_id:
            self.engine.remove(f"{now.path}.snapshotId")
        self.engine.remove(f"{now.path}.moveTo")

    def _result(self, known: Stored, plan: Plan, took: Stopwatch) -> dict[str, Any]:
        """Checks that Nomad and EC2 have what the state says, and that nothing is left to do."""
        self._verify(known)
        if pending := self.engine.pending():
            raise ZoneChangeError(f"the volume is in {known.zone}, and a preview has changes still:\n{pending}")
        old_id = origin.source if (origin := self.copies(known).origin()) else ""
        if old_id and plan.phase != "done":
            Copies(self.place, old_id, self.wanted.volume).drop_first(but=known.snapshot_id)
        return {
            "ok": True,
            "volume": self.wanted.volume,
            "zone": known.zone,
            "volumeId": known.volume_id,
            "snapshotId": known.snapshot_id,
            "earlierVolumeId": old_id,
            "lostMinutes": round(plan.loss.minutes, 1) if plan.loss else 0,
            "consumers": self.consumers(known).running_in(known.zone),
            "seconds": round(took.seconds, 1),
            "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        }

    def _verify(self, known: Stored) -> None:
        """Raises ZoneChangeError where Nomad or EC2 has another volume, TimedOutError where a consumer does not run."""
        found = self.nomad.find(volume_path(self.wanted.volume), namespace=known.namespace) or {}
        zone = self.ebs.state(known.volume_id).zone or "no zone"
        if found.get("ExternalID") != known.volume_id or zone != self.wanted.zone:
            raise ZoneChangeError(
                f"volume {self.wanted.volume} is {known.volume_id} in the state, "
                f"{found.get('ExternalID') or 'nothing'} in Nomad, and in {zone}: run `pulumi up --refresh`"
            )
        using = self.consumers(known)
        started = {str(job["ID"]) for job in using.jobs() if not job.get("Stop") and job.get("Type") == "service"}

        def probe() -> bool:
            return started <= {one.partition(" on ")[0] for one in using.running_in(self.wanted.zone)}

        what = f"{', '.join(sorted(started)) or 'nothing'} runs in {self.wanted.zone}"
        wait_for(what, probe, 300, f"`nomad-stateful explain {self.wanted.volume}` says why it does not.")

    def consumers(self, known: Stored) -> Consumers:
        """Returns the jobs that use the volume."""
        return Consumers(self.nomad, known.namespace, self.wanted.volume)

    def copies(self, known: Stored) -> Copies:
        """Returns the snapshots of the EBS volume that the state has."""
        return Copies(self.place, known.volume_id, self.wanted.volume, known.snapshot_id)
