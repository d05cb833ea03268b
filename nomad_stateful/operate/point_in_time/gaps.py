"""Why the binary logs do not lead to a point in time, and how far they do."""

from __future__ import annotations

from datetime import datetime, timedelta

from nomad_stateful.databases.mysql.archive import SHOWN
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.operate.point_in_time.logs import Log, PointInTimeError
from nomad_stateful.operate.point_in_time.reading import Contents

_MOMENT = timedelta(microseconds=1)
_LONGEST = 300


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
