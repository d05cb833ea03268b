"""The binary logs of one server that lead from a snapshot to a point in time, by the GTIDs that each of them names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from nomad_stateful.databases.mysql.archive import SHOWN
from nomad_stateful.databases.mysql.binlog import contents
from nomad_stateful.operate.point_in_time.gaps import refusal
from nomad_stateful.operate.point_in_time.group_timeline import GroupTimeline
from nomad_stateful.operate.point_in_time.logs import Log, PointInTimeError, Stored
from nomad_stateful.operate.point_in_time.reading import Contents, Reader, readable


class Timeline:
    """The logs in S3, as they lead to a point in time."""

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
