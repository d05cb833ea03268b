"""What leads from a snapshot to a point in time: the logs, and which of their transactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, pairwise

from nomad_stateful.databases.mysql.archive import FOLDER, SHOWN
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.operate.point_in_time.logs import Log, PointInTimeError, Stored
from nomad_stateful.operate.point_in_time.reading import Contents
from nomad_stateful.operate.point_in_time.timeline import Timeline


@dataclass(frozen=True)
class Replay:
    """What leads from a snapshot to the point in time."""

    bucket: str
    logs: tuple[Log, ...]
    to: datetime
    last: str
    """GTID of the last transaction that is wanted; "" where the logs have none."""
    begins: GtidSet
    """All transactions before the first log: the snapshot has to have them."""
    wanted: GtidSet
    """All transactions up to the last that is wanted: the restored server has to have them."""
    ends: GtidSet
    """All transactions up to the end of the last log: the restored server must have none of these but the wanted."""
    others: tuple[str, ...] = ()
    """Keys between the least and the greatest of the logs' that do not belong to them."""
    after: tuple[tuple[str, str], ...] = ()
    """Keys that are not in the order of the logs, each with the one that it comes after."""

    @property
    def size(self) -> int:
        """Bytes of all logs."""
        return sum(log.size for log in self.logs)


def replay(known: Stored, base: datetime, to: datetime) -> Replay:
    """Returns the logs from `base`, when the snapshot was taken, and the transactions they are applied up to.

    Raises PointInTimeError where they are not all of that time, and botocore's errors.
    """
    if known.until is None or not known.logs:
        raise PointInTimeError(f"there is no binary log in s3://{known.bucket.name}/{known.prefix}{FOLDER}: {_WHY_NOT}")
    if to > known.until:
        raise PointInTimeError(
            f"--to is {to:{SHOWN}}, and the binary logs in S3 reach until {known.until:{SHOWN}}: name a time up to "
            "that (`--to latest` is the last), or wait until they have come further"
        )
    found = Timeline(known, to).since(base)
    last, wanted = _last(found)
    logs = tuple(one.log for one in found)
    keys = [log.key for log in logs]
    least, greatest, own = min(keys), max(keys), frozenset(keys)
    others = tuple(log.key for log in known.logs if least < log.key < greatest and log.key not in own)
    pairs = zip(pairwise(keys), accumulate(keys, max), strict=False)
    after = tuple((key, before) for (before, key), most in pairs if key < most)
    return Replay(known.bucket.name, logs, to, last, found[0].before, wanted, found[-1].ends, others, after)


def _last(logs: Sequence[Contents]) -> tuple[str, GtidSet]:
    """Returns the last transaction that is wanted, and all up to it; most often it is in the very last log."""
    for one in reversed(logs):
        if one.last is not None:
            return str(one.last), one.wanted
    return "", logs[0].before


_WHY_NOT = (
    "it takes up to a minute after the first `up` with mysql.pointInTime; `nomad alloc logs -stderr -task binlogs "
    "ALLOCATION` says what keeps it"
)
