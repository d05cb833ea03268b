"""Which of the binary logs lead from a snapshot to a point in time, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NoReturn

from operate.point_in_time.logs import SHOWN, Log, PointInTimeError


def chain(logs: Sequence[Log], base: datetime, to: datetime) -> list[Log]:
    """Returns the logs of one server, each the next one's predecessor, from `base` on. Raises PointInTimeError."""
    before = [log for log in logs if log.began <= base]
    if not before:
        first = min(log.began for log in logs)
        raise PointInTimeError(
            f"the binary logs in S3 begin at {first:{SHOWN}}, after the snapshot of {base:{SHOWN}}: restore from a "
            "newer one (`python -m operate snapshots`, then --snapshot ID)"
        )
    newest = max(before, key=lambda log: (log.began, log.number, log.size))
    found, whole = [newest], _whole(logs)
    while following := [
        log for log in whole if log.number == found[-1].number + 1 and found[-1].began <= log.began <= to
    ]:
        _refuse_fork(logs, found[-1], following)
        found.append(following[0])
    if left := [log for log in whole if found[-1].began < log.began <= to]:
        raise PointInTimeError(
            f"after {found[-1].name} of {found[-1].began:{SHOWN}}, {left[0].name} is the next log in S3: what lies "
            f"between is missing. Go on from a snapshot taken after {max(log.began for log in left):{SHOWN}}, with "
            "--snapshot ID, or to a time before that"
        )
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


def _whole(logs: Sequence[Log]) -> list[Log]:
    """Returns the logs without those that the first server on a restored volume found cut short, and copied again."""
    longest: dict[tuple[int, datetime], Log] = {}
    for log in logs:
        known = longest.get((log.number, log.began))
        longest[log.number, log.began] = log if known is None or log.size > known.size else known
    return [log for log in logs if log is longest[log.number, log.began]]


def _refuse_fork(logs: Sequence[Log], before: Log, following: Sequence[Log]) -> None:
    """Raises PointInTimeError where the volume was restored meanwhile: then one server's logs do not lead on."""
    cut = [log for log in logs if (log.number, log.began) == (before.number, before.began) and log != before]
    # Two servers went on from a log that was cut: until the later one did, what follows is the first one's.
    both = [log for log in _whole(logs) if log.number == before.number + 1 and log.began >= before.began]
    if len(following) > 1 or (cut and len(both) < 2):
        _refuse(before, following)


def _refuse(before: Log, following: Sequence[Log]) -> NoReturn:
    restored = max(log.began for log in following)
    raise PointInTimeError(
        f"after {before.name} of {before.began:{SHOWN}} the volume was itself restored, and other logs follow: go on "
        f"from a snapshot taken after {restored:{SHOWN}}, with --snapshot ID, or to a time before that"
    )
