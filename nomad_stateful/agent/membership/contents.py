"""What a server has that is of its group, or is not: its data, and the sessions of its clients."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pymysql.constants import ER
from pymysql.cursors import Cursor
from pymysql.err import OperationalError

from nomad_stateful.agent.membership.decision import Answer

_DATABASES = """
SELECT COUNT(*) FROM information_schema.schemata
WHERE schema_name NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')
"""
_EVENTS = """
SELECT COUNT(*) FROM information_schema.events WHERE status = 'ENABLED' AND @@GLOBAL.event_scheduler = 'ON'
"""
# Nobody else connects by TCP: not the agent, nor what replicates.
_CLIENTS = "SELECT id FROM performance_schema.processlist WHERE host LIKE '%%:%%' AND user <> %s"


def end_clients(cursor: Cursor, group_user: str) -> None:
    """Ends the sessions of clients, but for the other members'.

    The locks of one that was open when its server left the group keep that from executing what it lacks.
    """
    cursor.execute(_CLIENTS, (group_user,))
    for (number,) in cursor.fetchall():
        try:
            cursor.execute("KILL %s", (number,))
        except OperationalError as error:
            if error.args[0] != ER.NO_SUCH_THREAD:
                raise


def make_table(cursor: Cursor) -> None:
    """Makes the table of the group where it lacks: who was to make it may have been cut off on the way."""
    cursor.execute("CREATE DATABASE IF NOT EXISTS nomad_stateful")
    columns = "id CHAR(36) PRIMARY KEY, accounts CHAR(64) NOT NULL"
    cursor.execute(f"CREATE TABLE IF NOT EXISTS nomad_stateful.replication_group ({columns})")


def has_databases(cursor: Cursor) -> bool:
    """Returns whether it has databases of clients."""
    cursor.execute(_DATABASES)
    found = cursor.fetchone()
    # START is refused in a transaction.
    cursor.execute("COMMIT")
    return found != (0,)


class Events:
    """The scheduler of a server's events: one of root's writes as soon as the server takes writes of root.

    No group takes a member with a transaction of its own.
    """

    def __init__(self, stopped: Path) -> None:
        """`stopped` is a file that is there while it is to run again: a session may fail, an agent be killed."""
        self._stopped = stopped

    def stop(self, cursor: Cursor) -> None:
        """Stops it where it has something to run."""
        cursor.execute(_EVENTS)
        if cursor.fetchone() != (0,):
            self._stopped.touch()
        # In a transaction no mode is changed.
        cursor.execute("COMMIT")
        if self._stopped.exists():
            cursor.execute("SET GLOBAL event_scheduler = OFF")

    def resume(self, cursor: Cursor) -> None:
        """Has it run again, where it was stopped."""
        if self._stopped.exists():
            cursor.execute("SET GLOBAL event_scheduler = ON")
            self._stopped.unlink()


def have_others_copy(cursor: Cursor, own: Answer, events: Events) -> None:
    """Has members that join copy all of a server with data: it may have transactions that are in no binary log.

    As one that ran without GTIDs has, or whose first start ran scripts. A GTID of no log, which they lack, makes them
    take a clone. https://dev.mysql.com/doc/refman/9.7/en/replication-options-gtids.html#sysvar_gtid_purged
    """
    executed = [str(own.transactions.executed)] if own.transactions.executed else []
    with writable(cursor, events):
        cursor.execute("RESET BINARY LOGS AND GTIDS")
        cursor.execute("SET GLOBAL gtid_purged = %s", (",".join([*executed, f"{uuid.uuid4()}:1"]),))


@contextmanager
def writable(cursor: Cursor, events: Events) -> Iterator[None]:
    """Has a server that is in no group take writes, of the own session alone."""
    events.stop(cursor)
    try:
        cursor.execute("SET GLOBAL offline_mode = ON")
        cursor.execute("SET GLOBAL super_read_only = OFF")
        yield
    finally:
        cursor.execute("SET GLOBAL super_read_only = ON")
        events.resume(cursor)
        cursor.execute("SET GLOBAL offline_mode = OFF")
