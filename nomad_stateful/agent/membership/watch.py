"""What a member says of itself to whoever routes to it: a look at the server twice a second, and how old it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from pymysql.cursors import Cursor

from nomad_stateful.agent.membership.decision import Answer
from nomad_stateful.agent.membership.disk import Disk
from nomad_stateful.agent.membership.member import Member, look
from nomad_stateful.agent.server import ServerError
from nomad_stateful.waiting import Stopwatch, repeat

_EVERY_S = 0.4
FRESH_S = 1.5
# A server that was paused for longer may have been expelled, and hears of it a moment after it goes on.
_PAUSED_S = 4.0
_SETTLES_WITHIN_S = 5.0
_LAG = """
SELECT COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND, applying_transaction_original_commit_timestamp, NOW(6))), 0) / 1e6
FROM performance_schema.replication_applier_status_by_worker
WHERE channel_name = 'group_replication_applier' AND applying_transaction <> ''
"""
_VIEW = """
SELECT member_host, member_state, member_role FROM performance_schema.replication_group_members
WHERE member_id <> '' ORDER BY member_host, member_port
"""


@dataclass(frozen=True)
class Seen:
    """One look at the server."""

    at: float
    """When it was asked, by the clock that nobody sets."""
    answer: Answer
    lag_s: float = 0.0
    """How long ago the oldest transaction was committed that it executes just now."""
    view: Sequence[tuple[str, str, str]] = ()
    """Host, state and role of the members that it sees."""


@dataclass
class Watch:
    """The last look, kept up to date by a thread."""

    member: Member
    disk: Disk
    clock: Callable[[], float] = field(default_factory=lambda: partial(getattr, Stopwatch(), "seconds"))
    seen: Seen | None = None
    why: str = "the server was not asked yet"
    """Why the last look failed."""
    _resumed: float = field(default=-_SETTLES_WITHIN_S)

    def start(self) -> None:
        """Looks until the program ends."""

        def again() -> float:
            self._run()
            return _EVERY_S

        threading.Thread(target=repeat, args=(again,), daemon=True).start()

    def note(self, seen: Seen) -> None:
        """Takes a look for the last one."""
        if self.seen is not None and seen.at - self.seen.at > _PAUSED_S:
            self._resumed = seen.at
        self.seen = seen

    def fresh(self) -> Seen | str:
        """Returns the last look, or why there is none that counts."""
        if self.seen is None or self.clock() - self.seen.at > FRESH_S:
            return f"the server does not answer: {self.why}"
        return self.seen

    @property
    def settles(self) -> bool:
        """Whether the server was paused until a moment ago."""
        return self.clock() - self._resumed < _SETTLES_WITHIN_S

    def _run(self) -> None:
        """Looks by one session, until that fails."""

        def once() -> float:
            self.note(self._look(cursor))
            return _EVERY_S

        try:
            with self.member.own_session() as cursor:
                repeat(once)
        except (ServerError, OSError, ValueError) as error:
            self.why = str(error)

    def _look(self, cursor: Cursor) -> Seen:
        at = self.clock()
        answer = look(cursor)
        cursor.execute(_LAG)
        [(lag_s,)] = cursor.fetchall()
        cursor.execute(_VIEW)
        view = [(str(host), str(state), str(role)) for host, state, role in cursor.fetchall()]
        self.disk.look(cursor, is_primary=answer.state == "ONLINE" and answer.role == "PRIMARY")
        return Seen(at, answer, max(0.0, float(lag_s)), view)
