"""The binary logs that lead from a snapshot to a point in time, by the GTIDs that each names, or why none do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

from nomad_stateful.databases.mysql.archive import NEVER, SHOWN
from nomad_stateful.databases.mysql.binlog import contents
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.operate.point_in_time.logs import Contents, Log, PointInTimeError, Reader, Stored, readable

# The member whose volume the snapshot is of has executed by then what was logged so long before.
_BEHIND = timedelta(minutes=5)
_MOMENT = timedelta(microseconds=1)
_LONGEST = 300


class Timeline:
    """The logs in S3 of one server, as they lead to a point in time; those of a group lead on by GroupTimeline."""

    def __init__(self, stored: Stored, to: datetime) -> None:
        self._stored = stored
        self._to = to
        self._reader = Reader(stored, to)
        # Of one second the server's numbers say the order.
        self._logs = sorted(_without_cut(stored.logs), key=lambda log: (log.began, log.number))

    def since(self, base: datetime) -> list[Contents]:
        """Returns the logs from the snapshot on; of each the one before it in time is the one before it by its GTIDs.

        Raises PointInTimeError unless they have every transaction up to the time.
        """
        started = sum(log.began <= base for log in self._logs)
        if not started:
            first = self._logs[0].began
            raise PointInTimeError(
                f"the binary logs in S3 begin at {first:{SHOWN}}, after the snapshot of {base:{SHOWN}}: restore from a "
                "newer one (`nomad-stateful snapshots`, then --snapshot ID)"
            )
        if self._logs[started - 1].member:
            return GroupTimeline(self._stored, self._to, self._reader, self._logs).since(base)
        end = sum(log.began <= self._to for log in self._logs)
        with self._reader.read_all(self._logs[started - 1 : end]) as contents_of:
            logs = [next(contents_of)]
            for read in contents_of:
                if read.before != logs[-1].ends:
                    raise refusal(self._to, logs[-1], read.log, read.before)
                logs.append(read)
        self._refuse_hole(logs, self._logs[end] if end < len(self._logs) else None)
        return self._with_last(self._earlier(started - 2, logs[0]) + logs)

    def _earlier(self, at: int, first: Contents) -> list[Contents]:
        """Returns the log before the first, as clocks differ; what the snapshot has already is not applied again."""
        try:
            read = self._reader.read(self._logs[at]) if at >= 0 else None
        except PointInTimeError:
            # Such as one from before its server had GTIDs.
            return []
        return [read] if read and read.ends == first.before else []

    def _refuse_hole(self, logs: Sequence[Contents], following: Log | None) -> None:
        """Raises PointInTimeError unless these logs have every transaction up to the time.

        They do where the last one has a later one, where `until` is true of them, and where a running server went over
        from the last one to the next, which says of exactly its transactions that they came before it.
        """
        last, covers = logs[-1], self._stored.covers
        if self._to <= last.whole:
            return
        if any(one.log.key == covers for one in logs) or not (covers or following):
            return
        if following is None:
            raise refusal(self._to, last, None, last.ends)
        with readable(), self._reader.opened(following) as (_, body):
            found, _ = contents(self._reader.name(following), body)
        if not (last.rotated and found.rotated and found.before == last.ends):
            raise refusal(self._to, last, following, found.before)

    def _with_last(self, logs: list[Contents]) -> list[Contents]:
        """Returns the logs, of which the last one with transactions of the time is read to its end."""
        at = next((at for at in reversed(range(len(logs))) if logs[at].wanted != logs[at].before), None)
        if at is not None and logs[at].last is None:
            logs[at] = self._reader.read(logs[at].log, whole=True)
        return logs


def _without_cut(logs: Sequence[Log]) -> list[Log]:
    """Returns the logs without those that the first server on a restored volume found cut short, and copied again."""
    longest: dict[tuple[str, datetime], Log] = {}
    for log in logs:
        known = longest.get((log.name, log.began))
        longest[log.name, log.began] = log if known is None or log.size > known.size else known
    return list(longest.values())


@dataclass
class GroupTimeline:
    """The logs in S3 of a group's members, in the order in which they began, as they lead to a point in time.

    All members log the same transactions in the group's order, each from the set on that it had, and maybe behind the
    others. So logs of several members lead on as long as each begins with transactions that those before it have; what
    two of them have is applied once. A time is whole once one of them has a later transaction: whatever was
    acknowledged by then was ordered before that one.
    """

    stored: Stored
    to: datetime
    reader: Reader
    logs: Sequence[Log]

    def since(self, base: datetime) -> list[Contents]:
        """Returns the logs from the snapshot on, each with all that those before it have.

        Raises PointInTimeError unless they have every transaction up to the time.
        """
        surely = base - _BEHIND
        started = max(1, sum(log.began <= surely for log in self.logs))
        # A secondary's log may be long, and is copied once it is the primary.
        late = [log for log in self.logs[: started - 1] if log.copied > surely]
        logs = [log for log in (*late, *self.logs[started - 1 :]) if log.member]
        with self.reader.read_all(logs) as contents_of:
            first = [next(contents_of) for log in logs if log.began <= surely] or [next(contents_of)]
            begins = reduce(or_, (one.before for one in first))
            return self._with_last(self._chain(begins, (one for some in (first, contents_of) for one in some)))

    def _chain(self, have: GtidSet, contents_of: Iterable[Contents]) -> list[Contents]:
        """Returns the logs up to the one with which the time is whole, each with what those before it have."""
        chain: list[Contents] = []
        waiting: list[Contents] = []
        whole = NEVER
        for read in contents_of:
            waiting.append(read)
            while follows := next((one for one in waiting if one.before <= have), None):
                waiting.remove(follows)
                ends = have | follows.ends
                if ends != have or not chain:
                    chain.append(replace(follows, before=have, ends=ends, wanted=ends))
                have, whole = ends, max(whole, follows.whole)
                if self.to <= whole or (self.stored.gtids is not None and self.stored.gtids <= have):
                    return chain
        last = replace(chain[-1], whole=whole)
        if not waiting:
            raise refusal(self.to, last, None, have)
        raise refusal(self.to, last, waiting[0].log, waiting[0].before | have)

    def _with_last(self, chain: list[Contents]) -> list[Contents]:
        """Returns the logs, of which the last one with transactions of the time is read to its end."""
        for at in reversed(range(len(chain))):
            read = self.reader.read(chain[at].log, whole=True, have=chain[at].before)
            chain[at] = replace(read, ends=chain[at].ends)
            if read.last is not None:
                break
        return chain


def refusal(to: datetime, last: Contents, following: Log | None, before: GtidSet) -> PointInTimeError:
    """Returns the error of a time that lies in a hole of the logs, or behind one."""
    began = [following.began - _MOMENT] if following else []
    whole = exact(min([last.whole, *began]))
    later = f"; a later time takes a snapshot from after {following.began:{SHOWN}} (--snapshot ID)" if following else ""
    return PointInTimeError(
        f"--to is {exact(to)}, and the binary logs from the snapshot are whole up to {whole}: "
        f"{_why(last, following, before)}. `--to {whole}` restores the last moment that is whole{later}"
    )


def _why(last: Contents, following: Log | None, before: GtidSet) -> str:
    of = f"{last.log.name} of {last.log.began:{SHOWN}}"
    if following is None:
        return f"{of} is the last log that its server copied"
    after = f"{following.name} of {following.began:{SHOWN}}"
    if lacks := last.ends - before:
        return (
            f"the server that began {after} had not {_shown(lacks)} of the logs before it: its volume was itself "
            "restored, or it is another server"
        )
    if missing := before - last.ends:
        return f"after {of}, {after} is the next log in S3, and {_shown(missing)} between them is missing"
    return (
        f"after {of}, {after} is the next log in S3, and MySQL started between them: nothing says that it had not "
        "committed more"
    )


def exact(moment: datetime) -> str:
    """Returns a time so that --to takes it, to the microsecond."""
    return moment.isoformat().replace("+00:00", "Z")


def _shown(gtids: GtidSet) -> str:
    text = str(gtids)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(gtids)} transactions)"
