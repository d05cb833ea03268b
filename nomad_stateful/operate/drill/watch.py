"""The drill's job from its placement to its end: phases by the clock, and what its check says."""

import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.databases.operations import operations
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.running_job import ENDED, allocations, has_succeeded, last_events, newest
from nomad_stateful.nomad.task_log import TaskLog
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.drill.job import CHECK, FETCH
from nomad_stateful.operate.drill.model import DrillError, Json, Target
from nomad_stateful.operate.drill.report import Report, Table
from nomad_stateful.operate.errors import OperateError, TimedOutError
from nomad_stateful.waiting import Progress, Stopwatch

_LAST_LINES = 12
_LATE_READS = 25
_LATE_S = 5.0


class Watch:
    """Follows one job."""

    def __init__(self, nomad: NomadApi, target: Target, report: Report, took: Stopwatch, limit: Progress) -> None:
        self._nomad = nomad
        self._target = target
        self._report = report
        self._took = took
        self._limit = limit
        self._phase_took = Stopwatch()
        self._read = 0
        self._partial = ""
        self._lines: list[str] = []
        self._checking = ""
        self._done = False
        self._has_server = False
        self._server = target.kind.name if target.kind else ""
        self._own_tables = operations(self._server).drill.own_tables if target.kind else ()
        self._reads_left = _LATE_READS

    def follow(self) -> None:
        """Returns once the job has ended; what is wrong is in the report. Raises TimedOutError and NomadError."""
        print(f"==> place and attach: job {self._target.id}", file=sys.stderr)
        try:
            self._until("the volume is attached and mounted", self._running, self._why_pending)
            self._phase("attach")
            self._until("the job ends", self._ended, self._why_unfinished)
        except _Failed as failure:
            self._report.unchecked = failure.next == _LATER and self._is_whole
            self._report.wrong(failure.what, failure.next)
        if not self._has_server and self._report.ok:
            # The consumer's check is the proof: until it passed, nothing had answered.
            self._report.rto_s = round(self._took.seconds, 2)

    def _until(self, what: str, probe: Any, why: Any) -> None:
        try:
            wait_for(what, probe, max(0.0, self._limit.left_s), "")
        except TimedOutError:
            raise _Failed(f"{what}: not within --timeout. {why()}", _LATER) from None

    def _phase(self, name: str) -> None:
        self._report.phases[name] = round(self._phase_took.seconds, 2)
        self._phase_took.restart()

    def _allocation(self) -> Json | None:
        return newest(allocations(self._nomad, self._target.id, self._target.namespace))

    def _running(self) -> bool:
        allocation = self._allocation()
        if allocation is None:
            return False
        states = allocation.get("TaskStates") or {}
        self._has_server = self._server in states
        if allocation["ClientStatus"] in ENDED:
            return True
        first = self._server if self._has_server else CHECK
        return bool((states.get(first) or {}).get("StartedAt"))

    def _ended(self) -> bool:
        allocation = self._allocation()
        if allocation is None:
            raise DrillError(f"job {self._target.id} is gone from Nomad: somebody purged it while the drill ran")
        for line in self._new_lines(allocation["ID"]):
            self._take(line)
        if allocation["ClientStatus"] not in ENDED or self._is_behind(allocation):
            return False
        self._judge(allocation)
        return True

    def _is_behind(self, allocation: Json) -> bool:
        """Returns whether the log may lack the last lines of a check that has ended: another process writes it."""
        if self._done or not has_succeeded(allocation, CHECK):
            return False
        # A consumer's check says what it likes: once some of it is there, so is the rest.
        if not self._has_server and (self._lines or self._partial):
            return False
        self._reads_left -= 1
        return self._reads_left > 0

    def _new_lines(self, allocation_id: str) -> list[str]:
        text = TaskLog(self._nomad, self._target.namespace, allocation_id, CHECK).since(self._read)
        self._read += len(text.encode())
        *lines, self._partial = (self._partial + text).split("\n")
        self._lines = [*self._lines, *lines][-_LAST_LINES:]
        return lines

    def _take(self, line: str) -> None:
        mark, *fields = line.split("\t")
        if mark != "drill" or not fields:
            return
        kind, *values = fields
        value = values[0] if values else ""
        if kind == "table":
            self._report.tables.append(self._table(values))
        elif kind == "checking":
            self._checking = value
        elif kind == "newest":
            self._newest(value)
        elif kind == "done":
            self._done = True
        elif kind in _WRONG:
            what, then = _WRONG[kind]
            user = self._target.kind.superuser if self._target.kind else ""
            raise _Failed(what.format(value, user=user), then.format(earlier=self._report.earlier))
        elif kind in _NOTES:
            self._report.notes.append(_NOTES[kind].format(value))
        else:
            self._progress(kind, value)

    def _table(self, values: list[str]) -> Table:
        name, rows, status = [*values, "", "", ""][:3]
        own = name.startswith(self._own_tables)
        return Table(name, int(rows) if rows.isdigit() else None, status or "OK", own)

    def _progress(self, kind: str, value: str) -> None:
        report = self._report
        if kind == "replaying":
            print(f"==> replay: {report.logs} binary logs are applied", file=sys.stderr)
        elif kind == "loading":
            print("==> load: the dump goes into an empty server", file=sys.stderr)
        elif kind == "answers":
            report.server = value
            self._phase("start" if report.dumps else "recover")
            print(f"==> check: {value} answers{'' if report.dumps else '; checking its tables'}", file=sys.stderr)
        elif kind in _FILLED:
            self._phase(_FILLED[kind])
        if kind in _FILLED or (kind == "answers" and not report.dumps):
            report.rto_s = round(self._took.seconds, 2)
        report.replayed |= kind == "replayed"

    def _newest(self, value: str) -> None:
        try:
            found = datetime.fromtimestamp(int(value), UTC) if value.isdigit() else datetime.fromisoformat(value)
        except ValueError:
            raise _Failed(
                f"--newest returned {value!r}, which is neither a date and time nor seconds since 1970",
                "have it return one value: SELECT MAX(created) FROM shop.orders",
            ) from None
        self._report.newest = found if found.tzinfo else found.replace(tzinfo=UTC)

    def _judge(self, allocation: Json) -> None:
        """Adds what is wrong once the job has ended."""
        if self._report.rto_s is not None or not self._has_server:
            self._phase("check")
        damaged = [table for table in self._report.tables if not table.ok]
        for table in damaged:
            self._report.wrong(
                f"table {table.name} is damaged in the {self._report.what}: {table.status}",
                f"{self._report.earlier} for one in which it is whole, and check {table.name} on the live server: it "
                "may be damaged there too",
            )
        succeeded = has_succeeded(allocation, CHECK)
        if succeeded and not self._has_server:
            self._report.output = self._lines
            return
        if succeeded and self._done:
            self._judge_checked()
            return
        events = "; ".join(last_events({"NodeName": "its client", **allocation}, newest=2))
        if not self._has_server:
            self._report.output = self._lines or self._tail(allocation["ID"], CHECK)
            self._report.wrong(
                f"--check failed on the restored volume: {events}", f"see its output, and {self._report.earlier}"
            )
            return
        if ((allocation.get("TaskStates") or {}).get(FETCH) or {}).get("Failed"):
            self._judge_fetch(allocation["ID"], events)
            return
        self._report.output = self._tail(allocation["ID"], self._server)
        volume = "empty" if self._report.dumps else "restored"
        if not self._report.server:
            self._report.wrong(
                f"the server does not start on the {volume} volume: {events}",
                f"see its log, and {self._report.earlier}",
            )
        elif self._report.rto_s is None:
            self._report.wrong(f"the server ended while the dump was loaded: {events}", "see its log")
        elif not damaged or self._checking != damaged[-1].name:
            self._report.wrong(
                f"the server ended while table {self._checking or '(none yet)'} was checked: {events}",
                f"see its log (a server may stop at a page that it cannot read), and {self._report.earlier}",
            )

    @property
    def _is_whole(self) -> bool:
        return self._report.replayed and all(table.ok for table in self._report.tables)

    def _judge_checked(self) -> None:
        if not all(table.is_servers for table in self._report.tables):
            return
        # Whoever asked for the moment of a server without tables may still go on from it.
        self._report.unchecked = self._is_whole
        self._report.wrong(
            "the restored server has no table but its own and that of `verify`: nothing is proven",
            f"drill again once the live server has tables; if it has some by now, {self._report.earlier}",
        )

    def _judge_fetch(self, allocation_id: str, events: str) -> None:
        self._report.output = said = self._tail(allocation_id, FETCH)
        if self._report.dumps:
            why = said[-1] if said else events
            self._report.wrong(f"the dump cannot be fetched: {why}", f"see its output, and {self._report.earlier}")
            return
        self._report.wrong(
            f"the binary logs cannot be fetched: {events}", "see its output, and docs/point-in-time.md, Red"
        )

    def _tail(self, allocation_id: str, task: str) -> list[str]:
        log = TaskLog(self._nomad, self._target.namespace, allocation_id, task, "stderr")
        with suppress(TimedOutError):
            return wait_for(
                f"the log of task {task} is written",
                lambda: log.last(4000).splitlines()[-_LAST_LINES:] or None,
                _LATE_S,
                "",
            )
        return []

    def _why_pending(self) -> str:
        """Returns what holds the job up, in words."""
        from nomad_stateful.operate.doctor.facts import Facts, NotChecked, Sources
        from nomad_stateful.operate.explain import jobs
        from nomad_stateful.operate.explain.reason import Scene

        try:
            facts = Facts(Sources.of_stack())
            reasons = jobs.reasons(Scene(facts, self._target.namespace), self._target.id)
        except (NotChecked, OperateError, ProviderError) as error:
            return f"Why is not known: {error}"
        return "; ".join(one.what for one in reasons)

    def _why_unfinished(self) -> str:
        if not self._report.server:
            return (
                "The server does not answer yet, or the dump is still fetched"
                if self._report.dumps
                else "The server does not answer yet; its recovery may need longer"
            )
        if self._report.rto_s is None:
            return "It loads the dump"
        if self._report.to is not None and "replay" not in self._report.phases:
            return f"It applies {self._report.logs} binary logs"
        return f"It checks table {self._checking}; {len(self._report.tables)} are done"


class _Failed(Exception):
    def __init__(self, what: str, then: str) -> None:
        super().__init__(what)
        self.what = what
        self.next = then


_LATER = "give it longer with --timeout, or fix what holds it up"
_LOOK = "if it names --newest, correct the statement; else look at the same table on the live server"
# What the check says of a fault, and what to do about it.
_WRONG = {
    "failed": ("{}", _LOOK),
    "silent": ("the restored server does not let {user} in: {}", _LOOK),
    "unreplayed": ("the binary logs cannot be applied: {}", "see docs/point-in-time.md, Red"),
    "unloaded": ("the dump does not load: {}", "{earlier}; docs/drills.md, Dumps"),
}
# From then on the server has what was to be restored; and the phase that ends with it.
_FILLED = {"replayed": "replay", "loaded": "load"}
_NOTES = {
    "event": "event {} was made or altered since the snapshot, and whoever applies logs leaves it off: ALTER EVENT … "
    "ENABLE once MySQL has gone on, if it is to run",
    "engine": "table {} does not recover as InnoDB's do: rows of the snapshot's time may be missing or twice there",
}
