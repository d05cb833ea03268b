"""What leads from a snapshot to a point in time: the logs, and which of their transactions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from operate.point_in_time.binlog import Closing, GtidSet, contents, previous
from operate.point_in_time.chain import ForkError, after, chain, is_cut, successors
from operate.point_in_time.logs import FOLDER, SHOWN, UNTIL, Log, PointInTimeError, Stored

_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True)
class Replay:
    """What leads from a snapshot to the point in time."""

    bucket: str
    logs: tuple[Log, ...]
    to: datetime
    last: str
    """GTID of the last transaction that is wanted; "" where the logs have none."""
    after: str
    """GTID of the first one that is not; "" where the logs have none."""
    begins: str
    """GTIDs of all transactions before the first log: the snapshot has to have them."""
    before_last: str
    """GTIDs of all transactions before the log of `last`: the restored server has to have them."""
    ends: str
    """GTIDs of all transactions up to the end of the last log: the snapshot must have no others."""
    others: tuple[str, ...] = ()
    """Keys between those of the first and the last log that do not belong to them."""

    @property
    def size(self) -> int:
        """Bytes of all logs."""
        return sum(log.size for log in self.logs)


def replay(s3: Any, known: Stored, base: datetime, to: datetime) -> Replay:
    """Returns the logs from `base`, when the snapshot was taken, and the transactions they are applied up to.

    Raises PointInTimeError where they are not all of that time, BinlogError and botocore's errors.
    """
    if known.until is None or not known.logs:
        raise PointInTimeError(f"there is no binary log in s3://{known.bucket}/{known.prefix}{FOLDER}: {_WHY_NOT}")
    if to > known.until:
        raise PointInTimeError(
            f"--to is {to:{SHOWN}}, and the binary logs in S3 reach until {known.until:{SHOWN}}: name a time up to "
            "that (`--to latest` is the last), or wait until they have come further"
        )
    wanted = _Wanted(s3, known, base, to)
    logs = wanted.logs()
    found = _read(s3, known.bucket, logs[-1], to)
    _refuse_others(known, logs)
    wanted.refuse_hole(logs, found)
    # The last one that has a transaction of the time; most often it is the very last.
    for log in reversed(logs[:-1]):
        if found.last:
            break
        found = _with(found, _read(s3, known.bucket, log, to))
    begins = previous(*_open(s3, known.bucket, logs[0]))
    keys = {log.key for log in logs}
    others = [log.key for log in known.logs if logs[0].key < log.key < logs[-1].key and log.key not in keys]
    return Replay(
        known.bucket, tuple(logs), to, found.last, found.after, begins, found.before, found.ends, tuple(others)
    )


@dataclass(frozen=True)
class _Wanted:
    """A point in time, and the snapshot and the logs from which it is to be restored."""

    s3: Any
    known: Stored
    base: datetime
    to: datetime

    def logs(self) -> list[Log]:
        """Returns the logs of one server that lead there. Raises PointInTimeError."""
        try:
            return chain(self.known.logs, self.base, self.to)
        except ForkError as fork:
            raise self._refusal(self._last_whole(fork.restored), str(fork), fork.restored) from None

    def refuse_hole(self, logs: Sequence[Log], found: _Found) -> None:
        """Raises PointInTimeError unless these logs have every transaction up to the time.

        They do where the last one has a later one, where `until` is true of them, and where their server itself closed
        the last one to begin another, which then follows: by its number, and by what it says was committed before it.
        """
        last, later = logs[-1], after(self.known.logs, logs[-1])
        if not later or later[0].began > self.to:
            covers = any(log.key == self.known.covers for log in logs) if self.known.covers else not later
            if covers or self.to <= found.whole or self._leads_on(last, found):
                return
        why, restored = f"{last.name} of {last.began:{SHOWN}} is the last log that its server copied", None
        if later:
            restored = later[0].began
            why = (
                f"after {last.name} of {last.began:{SHOWN}}, {later[0].name} of {restored:{SHOWN}} is the next log in "
                "S3, and what lies between is missing"
            )
        raise self._refusal(_bounded(found.whole, later), why, restored)

    def _leads_on(self, last: Log, found: _Found) -> bool:
        """Returns whether the log that follows is the same server's next one."""
        following = successors(self.known.logs, last)
        if not found.rotated or len(following) < (2 if is_cut(self.known.logs, last) else 1):
            return False
        return str(GtidSet(previous(*_open(self.s3, self.known.bucket, following[0])))) == found.ends

    def _last_whole(self, before: datetime) -> datetime | None:
        """Returns the last whole moment before a time; None where that is the snapshot's own."""
        while (before := before - _MOMENT) > self.base:
            try:
                last = chain(self.known.logs, self.base, before)[-1]
            except ForkError as fork:
                before = fork.restored
                continue
            whole = _read(self.s3, self.known.bucket, last, before).whole
            return min(before, _bounded(whole, after(self.known.logs, last)))
        return None

    def _refusal(self, whole: datetime | None, why: str, restored: datetime | None) -> PointInTimeError:
        """Returns the error of a time that lies in a hole of the logs, or behind one."""
        up_to = f"up to {exact(whole)}" if whole else f"no further than the snapshot of {exact(self.base)}"
        ways = [f"`--to {exact(whole)}` restores the last moment that is whole"] if whole else []
        if restored:
            ways.append(f"a later time takes a snapshot from after {restored:{SHOWN}} (--snapshot ID)")
        remedy = "; ".join(ways)
        return PointInTimeError(
            f"--to is {exact(self.to)}, and the binary logs from the snapshot are whole {up_to}: {why}. "
            f"{remedy[:1].upper()}{remedy[1:]}"
        )


def _bounded(whole: datetime, later: Sequence[Log]) -> datetime:
    """Returns a moment at which no other server had begun its logs."""
    return min([whole, *(log.began - _MOMENT for log in later[:1])])


def exact(moment: datetime) -> str:
    """Returns a time so that --to takes it, to the microsecond."""
    return moment.isoformat().replace("+00:00", "Z")


def _refuse_others(known: Stored, found: Sequence[Log]) -> None:
    """Raises PointInTimeError where `until` is true of other logs than these, so of these nothing says they are all."""
    covered = next((log for log in known.logs if log.key == known.covers), None)
    if known.covers and (covered is None or (covered.began <= found[-1].began and covered not in found)):
        raise PointInTimeError(
            f"s3://{known.bucket}/{known.prefix}{FOLDER}{UNTIL} is true of the logs up to {known.covers}, to which "
            f"those from the snapshot do not lead: they end with {found[-1].key}. Another server copies to the same "
            "place, or did so last: go on from a snapshot of that one, with --snapshot ID"
        )


@dataclass(frozen=True)
class _Found:
    """What the last logs say."""

    whole: datetime
    """Up to when the last one has all that its server committed."""
    rotated: bool
    """Whether its server closed that one to begin another."""
    last: str
    after: str
    before: str
    ends: str


def _with(known: _Found, earlier: _Found) -> _Found:
    """Returns what is known with one log more, which is the one before those that were read."""
    return dataclasses.replace(known, last=earlier.last, after=earlier.after or known.after, before=earlier.before)


def _read(s3: Any, bucket: str, log: Log, to: datetime) -> _Found:
    before = previous(*_open(s3, bucket, log))
    last, first_after, gtids, whole, rotated = "", "", GtidSet(before), log.began, False
    for one in contents(*_open(s3, bucket, log)):
        whole = max(whole, one.at)
        if isinstance(one, Closing):
            rotated = one.rotated
            continue
        gtids.add(one.gtid)
        if one.at <= to:
            last, first_after = one.gtid, ""
        elif not first_after:
            first_after = one.gtid
    return _Found(whole, rotated, last, first_after, before, str(gtids))


def _open(s3: Any, bucket: str, log: Log) -> tuple[str, Any]:
    return f"s3://{bucket}/{log.key}", s3.get_object(Bucket=bucket, Key=log.key)["Body"]


_WHY_NOT = (
    "it takes up to a minute after the first `up` with mysql.pointInTime; `nomad alloc logs -stderr -task binlog-copy "
    "ALLOCATION` says what keeps it"
)
