"""Which of the binary logs lead from a snapshot to a point in time, by their names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NoReturn

from operate.point_in_time.logs import SHOWN, Log, PointInTimeError


class ForkError(PointInTimeError):
    """Two servers went on from one log, so the names do not say whose logs follow it."""

    def __init__(self, before: Log, restored: datetime) -> None:
        super().__init__(f"after {before.name} of {before.began:{SHOWN}} the volume was itself restored")
        self.restored = restored
        """When the later one of them began its next log."""


def chain(logs: Sequence[Log], base: datetime, to: datetime) -> list[Log]:
    """Returns the logs of one server, each the next one's predecessor, from `base` on.

    Whether they are all of its logs up to `to` is not said by their names. Raises ForkError and PointInTimeError.
    """
    before = [log for log in logs if log.began <= base]
    if not before:
        first = min(log.began for log in logs)
        raise PointInTimeError(
            f"the binary logs in S3 begin at {first:{SHOWN}}, after the snapshot of {base:{SHOWN}}: restore from a "
            "newer one (`python -m operate snapshots`, then --snapshot ID)"
        )
    newest = max(before, key=lambda log: (log.began, log.number, log.size))
    found, whole = [newest], without_cut(logs)
    # There may be a hundred thousand of them.
    numbered, all_numbered = _by_number(whole), _by_number(logs)
    while following := [log for log in numbered.get(found[-1].number + 1, ()) if found[-1].began <= log.began <= to]:
        cut = is_cut(all_numbered.get(found[-1].number, ()), found[-1])
        if len(following) > 1 or (cut and len(successors(logs, found[-1])) < 2):
            _refuse(found[-1], following)
        found.append(following[0])
    # One earlier, as clocks differ; what the snapshot has already is not applied again.
    earlier = [log for log in whole if log.began <= base and log.number == newest.number - 1]
    if len(earlier) == 1:
        found.insert(0, earlier[0])
    # Two may have begun in one second.
    start = (found[0].began, found[0].number)
    between = [log for log in whole if start <= (log.began, log.number) and log.began <= found[-1].began]
    if len(between) != len(found):
        _refuse(found[0], between)
    return found


def _by_number(logs: Sequence[Log]) -> Mapping[int, Sequence[Log]]:
    found = defaultdict(list)
    for log in logs:
        found[log.number].append(log)
    return found


def after(logs: Sequence[Log], last: Log) -> list[Log]:
    """Returns the logs that began after one, the first first."""
    later = [log for log in without_cut(logs) if (log.began, log.number) > (last.began, last.number)]
    return sorted(later, key=lambda log: (log.began, log.number))


def successors(logs: Sequence[Log], last: Log) -> list[Log]:
    """Returns the logs that may follow one, the first first: more than one where its volume was restored."""
    return [log for log in after(logs, last) if log.number == last.number + 1]


def is_cut(logs: Sequence[Log], last: Log) -> bool:
    """Returns whether a server on a restored volume found this log shorter: its next one is not the old server's."""
    return any((log.number, log.began) == (last.number, last.began) and log != last for log in logs)


def without_cut(logs: Sequence[Log]) -> list[Log]:
    """Returns the logs without those that the first server on a restored volume found cut short, and copied again."""
    longest: dict[tuple[int, datetime], Log] = {}
    for log in logs:
        known = longest.get((log.number, log.began))
        longest[log.number, log.began] = log if known is None or log.size > known.size else known
    return [log for log in logs if log is longest[log.number, log.began]]


def _refuse(before: Log, following: Sequence[Log]) -> NoReturn:
    raise ForkError(before, max(log.began for log in following))
