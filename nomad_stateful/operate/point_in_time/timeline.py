"""The binary logs of one server that lead from a snapshot to a point in time, by the GTIDs that each of them names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from nomad_stateful.databases.mysql.archive import SHOWN, Facts
from nomad_stateful.databases.mysql.binlog import BinlogError, Closing, contents
from nomad_stateful.databases.mysql.gtids import Gtid, GtidSet, GtidSetBuilder
from nomad_stateful.operate.point_in_time.logs import Log, PointInTimeError, Stored

_MOMENT = timedelta(microseconds=1)
_AT_ONCE = 8
_LONGEST = 300


@dataclass(frozen=True)
class Contents:
    """What a log says of its transactions, and of those up to the point in time."""

    log: Log
    before: GtidSet
    """All of the logs before it."""
    ends: GtidSet
    """All of the logs up to its end."""
    last: Gtid | None
    """The last one that was committed up to the time; None where it has none, or its metadata alone was read."""
    wanted: GtidSet
    """All up to that one; those of the logs before it where it has none."""
    whole: datetime
    """Up to when it has everything that its server committed."""
    rotated: bool
    """Whether its server closed it to begin another at once."""


class Timeline:
    """The logs in S3, as they lead to a point in time."""

    def __init__(self, stored: Stored, to: datetime) -> None:
        self._stored = stored
        self._to = to
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
        end = sum(log.began <= self._to for log in self._logs)
        with self._read_all(self._logs[started - 1 : end]) as contents_of:
            logs = [next(contents_of)]
            for read in contents_of:
                if read.before != logs[-1].ends:
                    raise self._refusal(logs[-1], read.log, read.before)
                logs.append(read)
        self._refuse_hole(logs, self._logs[end] if end < len(self._logs) else None)
        return self._with_last(self._earlier(started - 2, logs[0]) + logs)

    def _earlier(self, at: int, first: Contents) -> list[Contents]:
        """Returns the log before the first, as clocks differ; what the snapshot has already is not applied again."""
        try:
            read = self._read(self._logs[at]) if at >= 0 else None
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
            raise self._refusal(last, None, last.ends)
        with _readable(), self._opened(following) as (_, body):
            found, _ = contents(self._name(following), body)
        if not (last.rotated and found.rotated and found.before == last.ends):
            raise self._refusal(last, following, found.before)

    def _refusal(self, last: Contents, following: Log | None, before: GtidSet) -> PointInTimeError:
        """Returns the error of a time that lies in a hole of the logs, or behind one."""
        began = [following.began - _MOMENT] if following else []
        whole = exact(min([last.whole, *began]))
        later = (
            f"; a later time takes a snapshot from after {following.began:{SHOWN}} (--snapshot ID)" if following else ""
        )
        return PointInTimeError(
            f"--to is {exact(self._to)}, and the binary logs from the snapshot are whole up to {whole}: "
            f"{self._why(last, following, before)}. `--to {whole}` restores the last moment that is whole{later}"
        )

    def _why(self, last: Contents, following: Log | None, before: GtidSet) -> str:
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

    @contextmanager
    def _read_all(self, logs: Sequence[Log]) -> Iterator[Iterator[Contents]]:
        """Has the logs read in their order, some ahead of those that are asked for."""
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            yield pool.map(self._read, logs)
        finally:
            pool.shutdown(cancel_futures=True)

    def _with_last(self, logs: list[Contents]) -> list[Contents]:
        """Returns the logs, of which the last one with transactions of the time is read to its end."""
        at = next((at for at in reversed(range(len(logs))) if logs[at].wanted != logs[at].before), None)
        if at is not None and logs[at].last is None:
            logs[at] = self._read(logs[at].log, whole=True)
        return logs

    def _read(self, log: Log, *, whole: bool = False) -> Contents:
        with _readable(), self._opened(log) as (metadata, body):
            found = Facts.of_metadata(metadata)
            if whole or found is None or found.whole > self._to:
                return self._read_all_of(log, body)
        ends = found.ends
        return Contents(log, found.before, ends, None, ends, found.whole, found.closed_by_rotation)

    def _read_all_of(self, log: Log, body: Any) -> Contents:
        wanted, whole, rotated = GtidSetBuilder(), log.began, False
        last: Gtid | None = None
        later: list[Gtid] = []
        opening, parts = contents(self._name(log), body)
        for part in parts:
            whole = max(whole, part.at)
            if isinstance(part, Closing):
                rotated = part.rotated
            elif part.at > self._to:
                later.append(part.gtid)
            else:
                # Commits are in the order of their times but for a few.
                last = part.gtid
                wanted.extend([*later, last])
                later = []
        up_to = opening.before | wanted.build()
        return Contents(log, opening.before, up_to | GtidSetBuilder(later).build(), last, up_to, whole, rotated)

    @contextmanager
    def _opened(self, log: Log) -> Iterator[tuple[Mapping[str, str], Any]]:
        """Gives an object's metadata, which says all of a log that is not needed in part, and its body."""
        there = self._stored.bucket.open(log.key)
        if there is None:
            raise PointInTimeError(f"{self._name(log)} was removed just now: run the same command again")
        metadata, body = there
        with closing(body):
            yield metadata, body

    def _name(self, log: Log) -> str:
        return f"s3://{self._stored.bucket.name}/{log.key}"


def exact(moment: datetime) -> str:
    """Returns a time so that --to takes it, to the microsecond."""
    return moment.isoformat().replace("+00:00", "Z")


def _without_cut(logs: Sequence[Log]) -> list[Log]:
    """Returns the logs without those that the first server on a restored volume found cut short, and copied again."""
    longest: dict[tuple[int, datetime], Log] = {}
    for log in logs:
        known = longest.get((log.number, log.began))
        longest[log.number, log.began] = log if known is None or log.size > known.size else known
    return list(longest.values())


def _shown(gtids: GtidSet) -> str:
    text = str(gtids)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(gtids)} transactions)"


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except BinlogError as error:
        raise PointInTimeError(f"{error}. Restore from a snapshot that was taken after it, with --snapshot") from None
