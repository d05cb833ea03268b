"""What the binary logs in S3 say of their transactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nomad_stateful.databases.mysql.archive import NEVER, Facts
from nomad_stateful.databases.mysql.binlog import BinlogError, Closing, contents
from nomad_stateful.databases.mysql.gtids import Gtid, GtidSet, GtidSetBuilder
from nomad_stateful.operate.point_in_time.logs import Log, PointInTimeError, Stored

_AT_ONCE = 8


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
    """Up to when it and those before it have everything that was committed."""
    rotated: bool
    """Whether its server closed it to begin another at once."""


class Reader:
    """Reads logs for a restore to a time."""

    def __init__(self, stored: Stored, to: datetime) -> None:
        self._stored = stored
        self._to = to

    @contextmanager
    def read_all(self, logs: Sequence[Log]) -> Iterator[Iterator[Contents]]:
        """Has the logs read in their order, some ahead of those that are asked for."""
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            yield pool.map(self.read, logs)
        finally:
            pool.shutdown(cancel_futures=True)

    def read(self, log: Log, *, whole: bool = False, have: GtidSet | None = None) -> Contents:
        """Returns what a log says: with `whole` of each transaction, with `have` of those that are not among these.

        Raises PointInTimeError.
        """
        with readable(), self.opened(log) as (metadata, body):
            found = Facts.of_metadata(metadata)
            if whole or found is None or (found.whole > self._to and not log.member):
                return self._read_all_of(log, body, have)
        ends = found.ends
        return Contents(log, found.before, ends, None, ends, found.whole, found.closed_by_rotation)

    def _read_all_of(self, log: Log, body: Any, have: GtidSet | None) -> Contents:
        # A member that begins or closes a log may be behind.
        wanted, whole, rotated = GtidSetBuilder(), NEVER if log.member else log.began, False
        last: Gtid | None = None
        later: list[Gtid] = []
        opening, parts = contents(self.name(log), body)
        for part in parts:
            if not (log.member and isinstance(part, Closing)):
                whole = max(whole, part.at)
            if isinstance(part, Closing):
                rotated = part.rotated
            elif have is not None and part.gtid in have:
                continue
            elif part.at > self._to:
                later.append(part.gtid)
            else:
                # Commits are in the order of their times but for a few.
                last = part.gtid
                wanted.extend([*later, last])
                later = []
        before = opening.before if have is None else have
        up_to = before | wanted.build()
        return Contents(log, before, up_to | GtidSetBuilder(later).build(), last, up_to, whole, rotated)

    @contextmanager
    def opened(self, log: Log) -> Iterator[tuple[Mapping[str, str], Any]]:
        """Gives an object's metadata, which says all of a log that is not needed in part, and its body."""
        there = self._stored.bucket.open(log.key)
        if there is None:
            raise PointInTimeError(f"{self.name(log)} was removed just now: run the same command again")
        metadata, body = there
        with closing(body):
            yield metadata, body

    def name(self, log: Log) -> str:
        """Returns how messages name a log."""
        return f"s3://{self._stored.bucket.name}/{log.key}"


@contextmanager
def readable() -> Iterator[None]:
    """Has a log that cannot be read told as a PointInTimeError."""
    try:
        yield
    except BinlogError as error:
        raise PointInTimeError(f"{error}. Restore from a snapshot that was taken after it, with --snapshot") from None
