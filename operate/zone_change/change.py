"""The change of zone, step by step; each step is repeated or skipped by what is found."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.ebs.attachment import EbsVolumes
from nomad_stateful.ebs.restored import as_of, source
from nomad_stateful.ebs.tags import FIRST
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import volume_path
from operate.cluster import wait_for
from operate.engine import Engine
from operate.zone_change import clients, consumers
from operate.zone_change.consumers import Consumers
from operate.zone_change.copies import Copies
from operate.zone_change.situation import Phase, Setting, Stored, ZoneChangeError, phase, setting, stored

_ATTACHABLE_S = 90.0
_RELEASED_S = 600.0


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
    snapshot: str = ""
    """Of a lost zone: the snapshot."""
    taken: str = ""
    lost_minutes: float | None = None
    """Of a lost zone: how old the snapshot was when it was lost."""
    also: str = ""
    """Of a lost zone: what else the stack has to change, and changes along."""


@dataclass
class ZoneChange:
    """One volume's way to another zone."""

    engine: Engine
    nomad: NomadApi
    ebs: EbsVolumes
    ec2: Any
    wanted: Wanted
    _resumed: bool = field(default=False, init=False)

    def look(self) -> tuple[Setting, Stored]:
        """Returns settings and state as they are now. Raises OperateError."""
        name = self.wanted.volume
        return setting(self.engine.config(), name), stored(self.engine.resources(), name)

    def plan(self) -> Plan:
        """Checks everything that can be checked before something changes. Raises ZoneChangeError."""
        now, known = self.look()
        following = phase(now, known, self.wanted.zone)
        using = self._consumers(known)
        plan = Plan(following, now, known, tuple(str(job["ID"]) for job in using.jobs()))
        if following != "done":
            self._check_place(known, using)
        if following == "begin":
            self._check_cluster(known)
            plan = self._with_others(plan)
        if not self.wanted.lost:
            return plan
        return self._as_it_was(plan) if known.zone == self.wanted.zone else self._with_loss(plan)

    def _check_cluster(self, known: Stored) -> None:
        """Raises ZoneChangeError where Nomad has not the stack's volume: in another cluster every zone looks lost."""
        found = self.nomad.find(volume_path(self.wanted.volume), namespace=known.namespace) or {}
        there = found.get("ExternalID")
        if there != known.volume_id:
            raise ZoneChangeError(
                f"volume {self.wanted.volume} is {known.volume_id} in the stack, and {there or 'not registered'} in "
                f"namespace {known.namespace} of this Nomad cluster: it is another cluster, or an `up` has not ended. "
                "Check NOMAD_ADDR and --stack, or run `pulumi up`"
            )

    def _check_place(self, known: Stored, using: Consumers) -> None:
        zone, there = self.wanted.zone, clients.of(self.nomad, known.plugin_id)
        clients.refuse_unusable(there, zone, known.plugin_id)
        if others := using.other_volumes(zone):
            raise ZoneChangeError(
                f"--zone {zone}: a job that uses volume {self.wanted.volume} also uses {', '.join(others)}, which "
                "cannot be reached from there, and all its volumes have to be in one zone. Give each a job of its "
                "own first"
            )
        if strange := consumers.foreign(using.jobs(), known.job_ids):
            raise ZoneChangeError(
                f"job {', '.join(strange)} uses volume {self.wanted.volume} and is not this stack's: nothing would "
                f"start it again. Stop it (`nomad job stop {strange[0]}`), and run the same command again"
            )
        if known.zone != zone and not self.wanted.lost and not any(one.zone == known.zone for one in there):
            print(f"    no Nomad client is in {known.zone}: if it is lost, see `operate failover`", file=sys.stderr)

    def _with_loss(self, plan: Plan) -> Plan:
        """Returns the plan with what is lost. Raises ZoneChangeError where the zone is there, or no snapshot."""
        lost_at = clients.lost_at(clients.of(self.nomad, plan.known.plugin_id), plan.known.zone)
        copies = self._copies(plan.known)
        if plan.phase == "switch":
            found: Mapping[str, Any] | None = copies.describe(plan.setting.snapshot_id)
        else:
            chosen = self.wanted.snapshot_id
            found = copies.chosen(chosen) if chosen else copies.newest()
        if found is None:
            raise ZoneChangeError(
                f"EBS volume {plan.known.volume_id} has no complete snapshot: there is nothing to go on from in "
                "another zone. Restore a dump: docs/disaster-recovery.md, A zone is lost"
            )
        taken = as_of(found)
        minutes = max(0.0, (lost_at - taken).total_seconds() / 60)
        limit = self.wanted.max_loss_min
        if limit is not None and minutes > limit:
            raise ZoneChangeError(
                f"--max-loss is {limit:g}: snapshot {found['SnapshotId']} was taken {minutes:.1f} minutes before the "
                "zone was lost, and is the newest. Accept that, or go on from something newer: "
                "docs/disaster-recovery.md"
            )
        snapshot_id = str(found["SnapshotId"])
        return replace(plan, snapshot=snapshot_id, taken=f"{taken:%Y-%m-%d %H:%M:%S UTC}", lost_minutes=minutes)

    def _as_it_was(self, plan: Plan) -> Plan:
        """Returns the plan with what was lost when the volume was given up; it has its new zone already."""
        if not plan.known.snapshot_id:
            return plan
        found = self._copies(plan.known).describe(plan.known.snapshot_id)
        given_up = Copies(self.ec2, source(found), self.wanted.volume).given_up()
        if given_up is None:
            return plan
        taken = as_of(found)
        minutes = (given_up - taken).total_seconds() / 60
        return replace(
            plan, snapshot=plan.known.snapshot_id, taken=f"{taken:%Y-%m-%d %H:%M:%S UTC}", lost_minutes=minutes
        )

    def run(self, plan: Plan) -> dict[str, Any]:
        """Does what is left to be done; the result for scripts. Raises OperateError and ProviderError."""
        began, self._resumed = time.monotonic(), plan.phase not in ("begin", "done")
        steps = {"begin": self._begin, "prepare": self._prepare, "stop": self._stop, "switch": self._switch}
        done: Phase | None = None
        while True:
            now, known = self.look()
            following = phase(now, known, self.wanted.zone)
            if following == "done":
                return self._result(known, plan, began)
            if following == done:
                raise ZoneChangeError(
                    f"volume {self.wanted.volume} is where it was before the last step ({following}), though that did "
                    "not fail: somebody else changes the stack or its settings. Run the same command again after that"
                )
            steps[following](now, known, plan)
            done = following

    def _with_others(self, plan: Plan) -> Plan:
        """Returns the plan with the stack's other changes. Raises ZoneChangeError unless the zone is lost."""
        pending = self.engine.pending()
        if pending and not self.wanted.lost:
            raise ZoneChangeError(
                f"the stack has other changes to make, which would be made along with this one:\n{pending}\nRun "
                "`pulumi up`, or take them back, and run the same command again"
            )
        return replace(plan, also=pending)

    def _begin(self, now: Setting, known: Stored, plan: Plan) -> None:
        del known, plan
        self.engine.set({f"{now.path}.moveTo": self.wanted.zone})

    def _prepare(self, now: Setting, known: Stored, plan: Plan) -> None:
        del now, plan
        self.engine.up(f"lets volume {self.wanted.volume} leave {known.zone}", refresh=self._resumed)

    def _stop(self, now: Setting, known: Stored, plan: Plan) -> None:
        snapshot_id = self._given_up(known, plan) if self.wanted.lost else self._last_snapshot(now, known)
        self.engine.set({f"{now.path}.zone": self.wanted.zone, f"{now.path}.snapshotId": snapshot_id})

    def _given_up(self, known: Stored, plan: Plan) -> str:
        copies = self._copies(known)
        copies.give_up()
        self._consumers(known).stop(f"its zone {known.zone} is lost", await_attachable_s=0)
        return plan.snapshot

    def _last_snapshot(self, now: Setting, known: Stored) -> str:
        """Stops what uses the volume, and returns a snapshot of what it left."""
        copies, using = self._copies(known), self._consumers(known)
        if any(not job.get("Stop") for job in using.jobs()):
            print("==> a first snapshot while it runs, so that the last one is short", file=sys.stderr, flush=True)
            first = copies.take(FIRST, self.wanted.timeout_s)
            changes = {f"{now.path}.zone": self.wanted.zone, f"{now.path}.snapshotId": first}
            self.engine.refuse_failing(changes)
        print(
            f"==> stopping {', '.join(str(job['ID']) for job in using.jobs()) or 'nothing'}",
            file=sys.stderr,
            flush=True,
        )
        using.stop(f"volume {self.wanted.volume} moves to {self.wanted.zone}", await_attachable_s=_ATTACHABLE_S)
        using.await_released(self.ebs, known.volume_id, _RELEASED_S)
        print("==> the last snapshot", file=sys.stderr, flush=True)
        return copies.take(self._mark(using), self.wanted.timeout_s)

    def _mark(self, using: Consumers) -> str:
        return f"{self.wanted.zone} {using.token()}"

    def _switch(self, now: Setting, known: Stored, plan: Plan) -> None:
        del plan
        using = self._consumers(known)
        if known.zone != self.wanted.zone and not self.wanted.lost:
            # Somebody may have started it since the last snapshot.
            copies = self._copies(known)
            if copies.marked(self._mark(using)) != now.snapshot_id:
                self.engine.set({f"{now.path}.snapshotId": self._last_snapshot(now, known)})
        self.engine.up(f"makes volume {self.wanted.volume} in {self.wanted.zone}", refresh=self._resumed)
        # Last the one by which a repeated command knows that it has to go on here.
        if now.snapshot_id:
            self.engine.remove(f"{now.path}.snapshotId")
        self.engine.remove(f"{now.path}.moveTo")

    def _result(self, known: Stored, plan: Plan, began: float) -> dict[str, Any]:
        """Checks that Nomad and EC2 have what the state says, and that nothing is left to do."""
        self._verify(known)
        if pending := self.engine.pending():
            raise ZoneChangeError(f"the volume is in {known.zone}, and a preview has changes still:\n{pending}")
        old_id = source(self._copies(known).describe(known.snapshot_id)) if known.snapshot_id else ""
        if old_id and plan.phase != "done":
            Copies(self.ec2, old_id, self.wanted.volume).drop_first()
        return {
            "ok": True,
            "volume": self.wanted.volume,
            "zone": known.zone,
            "volumeId": known.volume_id,
            "snapshotId": known.snapshot_id,
            "earlierVolumeId": old_id,
            "lostMinutes": round(plan.lost_minutes, 1) if plan.lost_minutes is not None else 0,
            "consumers": self._consumers(known).running_in(known.zone),
            "seconds": round(time.monotonic() - began, 1),
            "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        }

    def _verify(self, known: Stored) -> None:
        """Raises ZoneChangeError where Nomad or EC2 has another volume, TimedOutError where a consumer does not run."""
        found = self.nomad.find(volume_path(self.wanted.volume), namespace=known.namespace) or {}
        made = self.ec2.describe_volumes(VolumeIds=[known.volume_id])["Volumes"][0]
        if found.get("ExternalID") != known.volume_id or made["AvailabilityZone"] != self.wanted.zone:
            raise ZoneChangeError(
                f"volume {self.wanted.volume} is {known.volume_id} in the state, "
                f"{found.get('ExternalID') or 'nothing'} in Nomad, and in {made['AvailabilityZone']}: run `pulumi up "
                "--refresh`"
            )
        using = self._consumers(known)
        started = {str(job["ID"]) for job in using.jobs() if not job.get("Stop") and job.get("Type") == "service"}

        def probe() -> bool | None:
            running = {one.partition(" on ")[0] for one in using.running_in(self.wanted.zone)}
            return True if started <= running else None

        what = f"{', '.join(sorted(started)) or 'nothing'} runs in {self.wanted.zone}"
        wait_for(what, probe, 300, f"`python -m operate explain {self.wanted.volume}` says why it does not.")

    def _consumers(self, known: Stored) -> Consumers:
        return Consumers(self.nomad, known.namespace, self.wanted.volume)

    def _copies(self, known: Stored) -> Copies:
        return Copies(self.ec2, known.volume_id, self.wanted.volume)
