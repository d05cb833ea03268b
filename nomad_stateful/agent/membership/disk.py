"""A primary whose disk takes nothing more, full, read-only or stalled: its writes hang, and it remains the primary.

Asking the group for another primary hangs with it, so the server is ended: its parent process (jobs/mysql/member.sh)
looks for a file beside the socket.
"""

import os
from collections.abc import Callable
from pathlib import Path

from pymysql.cursors import Cursor

from nomad_stateful.databases.mysql.group import COUNTED
from nomad_stateful.waiting import Stopwatch

HANGS_S = 10
STALLS_S = 20
"""How long no write ends of a disk that has room and gives no error, until it counts as stalled."""
STALLS_UNHEARD_S = 60
"""The same where the group does not answer: a question waits for what was received before it, and that for the disk."""
STALLS_SETTLING_S = 300
"""The same of a server that was paused or alone before: members that found each other agreed on nothing for minutes."""
_MAY_STALL_S = 2
START_AGAIN = "start again: "
"""Begins an order to end the server, after which its parent process starts it at once."""
_FULL_BYTES = 1 << 20
_HANGING = """
SELECT COALESCE(MAX(processlist_time), 0) FROM performance_schema.threads
WHERE type = 'FOREGROUND' AND processlist_command IN ('Query', 'Execute')
  AND processlist_state = 'waiting for handler commit'
"""
_LOGGED = """
SELECT COUNT(*) FROM performance_schema.error_log WHERE logged > NOW(6) - INTERVAL 60 SECOND AND
  (data LIKE '%%Disk is full%%' OR data LIKE '%%No space left on device%%' OR data LIKE '%%Read-only file system%%')
"""
_WRITTEN = """
SELECT SUM(count_write + count_misc) FROM performance_schema.file_summary_by_event_name
WHERE event_name IN %s
"""


class Disk:
    """The file system of the data directory, and the order to end the server."""

    def __init__(self, datadir: Path, order: Path, say: Callable[[str], None]) -> None:
        self._datadir = datadir
        self._order = order
        self._say = say
        self.failure = ""
        """Why writes hang; empty where they do not."""
        self._written: object = None
        """How many writes had ended when that was asked last, while commits waited."""
        self._since = Stopwatch()
        """When the last of them was seen."""
        self.may_stall = False
        """Whether commits wait and no write ends: of the disk, or of a group that agrees on nothing."""

    def look(self, cursor: Cursor, *, is_primary: bool, group_answers: bool = False, settles: bool = False) -> None:
        """Notes whether the primary's writes hang on the disk, and has its server ended after a while.

        `group_answers` says that the group has just answered: it is not what commits wait for. `settles` says that it
        has not since the server was paused, or saw no majority: it may be.
        """
        self.failure, self.may_stall = "", False
        if not is_primary:
            self._written = None
            self.failure = "the disk is full" if self._is_full() else ""
            return
        cursor.execute(_HANGING)
        [(hangs_s,)] = cursor.fetchall()
        if hangs_s < 1:
            self._written = None
            return
        cursor.execute(_LOGGED)
        [(logged,)] = cursor.fetchall()
        nothing_s = self._writes_nothing_s(cursor)
        self.may_stall = nothing_s >= _MAY_STALL_S
        unheard_s = STALLS_SETTLING_S if settles else STALLS_UNHEARD_S
        is_stalled = nothing_s >= (STALLS_S if group_answers else unheard_s)
        if not (is_stalled or self._is_full() or logged):
            return
        self.failure = f"the disk takes no writes: commits wait for {hangs_s} s"
        if hangs_s >= HANGS_S and not self._order.exists():
            self._say(f"{self.failure}; has the server ended, so that another member becomes the primary")
            self._order.write_text(f"{self.failure}\n", encoding="utf-8")

    def _writes_nothing_s(self, cursor: Cursor) -> float:
        """Since when no write has ended; a large transaction takes as long, and has writes that end."""
        cursor.execute(_WRITTEN, (COUNTED,))
        [(written,)] = cursor.fetchall()
        if written != self._written:
            self._written, self._since = written, Stopwatch()
        return self._since.seconds

    def _is_full(self) -> bool:
        found = os.statvfs(self._datadir)
        return found.f_bavail * found.f_frsize < _FULL_BYTES
