"""What a member says of itself to whoever routes to it: a look at the server for each question."""

import contextlib
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from pymysql.cursors import Cursor

from nomad_stateful.agent.membership.decision import Answer
from nomad_stateful.agent.membership.disk import Disk
from nomad_stateful.agent.membership.member import Member, look
from nomad_stateful.agent.server import ServerError
from nomad_stateful.nomad.group_members import NO_ANSWER
from nomad_stateful.waiting import Stopwatch, repeat

_EVERY_S = 0.4
_APART_S = 0.1
# Below a router's bound on a check. A question during a look waits for the next one too: each may take 0.8 s.
_ANSWERS_WITHIN_S = 1.8
_FRESH_S = 2 * _ANSWERS_WITHIN_S
# A server that was paused for longer, or saw no majority, may have been expelled, or is to be as soon as the others see
# it again. It hears of that a while later, 14 s were measured, and is to hear from its group all the time until then.
_PAUSED_S = 4.0
_HEARS_FOR_S = 30.0
_HEARD_WITHIN_S = 2.0
# How long a server with transactions to execute may have executed none until it is to hear from its group as well: what
# waits to be written to its disk is of no worker's, and of no time.
_STANDS_S = 2.0
_LAG = """
SELECT COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND, applying_transaction_original_commit_timestamp, NOW(6))), 0) / 1e6,
  (SELECT COALESCE(SUM(count_transactions_in_queue + count_transactions_remote_in_applier_queue), 0)
    FROM performance_schema.replication_group_member_stats WHERE member_id = @@server_uuid)
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
    """How long ago the oldest transaction was committed that it executes just now, or since when it executes none."""
    view: Sequence[tuple[str, str, str]] = ()
    """Host, state and role of the members that it sees."""
    queued: int = 0
    """Transactions that it has received and not executed."""


@dataclass
class Watch:
    """The last look, kept up to date by a thread."""

    member: Member
    disk: Disk
    clock: Callable[[], float] = field(default_factory=lambda: partial(getattr, Stopwatch(), "seconds"))
    seen: Seen | None = None
    why: str = "the server was not asked yet"
    """Why the last look failed."""
    _resumed: float = -math.inf
    _moved: float = 0.0
    """When it was seen last to execute something, or to have nothing to execute."""
    _heard: float = 0.0
    """When the last question began that the group has ordered."""
    _asks_group: bool = False
    _tried: float = -1.0
    """When the last look began, of those that have ended."""
    _wanted: threading.Event = field(default_factory=threading.Event)
    _looked: threading.Condition = field(default_factory=threading.Condition)

    def start(self) -> None:
        """Looks until the program ends."""

        def again() -> float:
            self._run()
            return 0.0

        threading.Thread(target=repeat, args=(again,), daemon=True).start()

    def note(self, seen: Seen) -> None:
        """Takes a look for the last one."""
        if self.seen is not None:
            paused = seen.at - self.seen.at > _PAUSED_S
            alone = self.seen.answer.state == seen.answer.state == "ONLINE" and not self.seen.answer.has_majority
            if paused or alone:
                self._resumed = seen.at
        if self.seen is None or not seen.queued or seen.answer.transactions != self.seen.answer.transactions:
            self._moved = seen.at
        stands_s = seen.at - max(self._moved, self._heard) if seen.queued else 0.0
        self.seen = replace(seen, lag_s=max(seen.lag_s, stands_s))
        self._ended(seen.at)
        doubts = self._is_to_hear or stands_s > _STANDS_S or self.disk.may_stall
        if doubts and seen.answer.is_online and not self._asks_group:
            self._asks_group = True
            threading.Thread(target=self._ask_group, daemon=True).start()

    def now(self) -> Seen | str:
        """Returns a look that began after the question, or why there is none: a role may have just been handed over."""
        asked = self.clock()
        self._wanted.set()
        with self._looked:
            self._looked.wait_for(lambda: self._tried >= asked, _ANSWERS_WITHIN_S)
        if self.seen is not None and self.seen.at >= asked:
            return self.seen
        why = self.why if self._tried >= asked else f"not within {_ANSWERS_WITHIN_S} s"
        return f"{NO_ANSWER}: {why}"

    def fresh(self) -> Seen | str:
        """Returns the last look, or why there is none that counts."""
        if self.seen is None or self.clock() - self.seen.at > _FRESH_S:
            return f"{NO_ANSWER}: {self.why}"
        return self.seen

    @property
    def _is_to_hear(self) -> bool:
        return self._heard < self._resumed or self.clock() - self._resumed < _HEARS_FOR_S

    @property
    def _has_just_heard(self) -> bool:
        return self.clock() - self._heard <= _HEARD_WITHIN_S

    @property
    def settles(self) -> bool:
        """Whether the server was paused, or saw no majority, and has not heard from its group since, and just now."""
        is_old = self._heard < self._resumed or not self._has_just_heard
        return self._is_to_hear and is_old

    def _ask_group(self) -> None:
        asked = self.clock()
        # What fails is asked again after the next look.
        try:
            with contextlib.suppress(ServerError, OSError, ValueError):
                self.member.hear_from_group()
                self._heard = asked
        finally:
            self._asks_group = False

    def _run(self) -> None:
        """Looks by one session, until that fails."""
        began = self._asked()
        try:
            with self.member.own_session(_ANSWERS_WITHIN_S) as cursor:
                while True:
                    self.note(self._look(cursor))
                    began = self._asked()
        except (ServerError, OSError, ValueError) as error:
            self.why = str(error)
            self._ended(began)

    def _asked(self) -> float:
        """Waits for a question, and not for long; the questions of many routers have one look."""
        self._wanted.wait(_EVERY_S)
        threading.Event().wait(max(0.0, self._tried + _APART_S - self.clock()))
        self._wanted.clear()
        return self.clock()

    def _ended(self, began: float) -> None:
        with self._looked:
            self._tried = began
            self._looked.notify_all()

    def _look(self, cursor: Cursor) -> Seen:
        at = self.clock()
        answer = look(cursor)
        cursor.execute(_LAG)
        [(lag_s, queued)] = cursor.fetchall()
        cursor.execute(_VIEW)
        view = [(str(host), str(state), str(role)) for host, state, role in cursor.fetchall()]
        is_primary = answer.is_online and answer.role == "PRIMARY"
        self.disk.look(cursor, is_primary=is_primary, group_answers=self._has_just_heard, settles=self.settles)
        return Seen(at, answer, max(0.0, float(lag_s)), view, int(queued))
