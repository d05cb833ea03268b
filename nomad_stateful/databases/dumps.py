"""Names of dumps: each has the time at which its run was launched."""

import re
from datetime import UTC, datetime

_NAME = re.compile(r"([0-9]{8}T[0-9]{6}Z)[.](?:sql[.]gz|tar)")
_NAMED = "%Y%m%dT%H%M%SZ"
# Nomad's names of the runs of a periodic job and of a dispatched one.
_LAUNCHED = re.compile(r".*/(?:periodic-([0-9]+)|dispatch-([0-9]+)-[^/]*)")


def is_dump(name: str) -> bool:
    """Returns whether a file or an object below the stack's prefix has a dump's name, as 20260101T030000Z.tar."""
    return _NAME.fullmatch(name) is not None


def begun(name: str) -> datetime | None:
    """Returns when the run of a dump was launched; None where a name is no dump's, or of no time, as 20261399T…."""
    found = _NAME.fullmatch(name)
    try:
        return datetime.strptime(found[1], _NAMED).replace(tzinfo=UTC) if found else None
    except ValueError:
        return None


def stem(moment: datetime) -> str:
    """Returns the name, without its ending, of a dump whose run was launched at a moment; names sort by it."""
    return moment.astimezone(UTC).strftime(_NAMED)


def launched(job_id: str) -> datetime | None:
    """Returns when Nomad launched the run that has a job's id, by Nomad's clock; None where it is no run's."""
    found = _LAUNCHED.fullmatch(job_id)
    return datetime.fromtimestamp(int(found[1] or found[2]), UTC) if found else None
