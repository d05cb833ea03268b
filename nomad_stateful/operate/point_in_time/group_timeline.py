"""The binary logs of a replication group's members that lead from a snapshot to a point in time.

All members log the same transactions in the group's order, each from the set on that it had, and maybe behind the
others. So logs of several members lead on as long as each begins with transactions that those before it have; what two
of them have is applied once. A time is whole once one of them has a later transaction: whatever was acknowledged by
then was ordered before that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

from nomad_stateful.databases.mysql.archive import NEVER
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.operate.point_in_time.gaps import refusal
from nomad_stateful.operate.point_in_time.logs import Log, Stored
from nomad_stateful.operate.point_in_time.reading import Contents, Reader

# The member whose volume the snapshot is of has executed by then what was logged so long before.
_BEHIND = timedelta(minutes=5)


@dataclass
class GroupTimeline:
    """The logs in S3 in the order in which they began, as they lead to a point in time."""

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
