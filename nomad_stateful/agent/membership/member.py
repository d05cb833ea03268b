"""What the agent asks and tells its own server, and asks the other members'."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path

from pymysql.cursors import Cursor

from nomad_stateful.agent.membership.account import Account, verified
from nomad_stateful.agent.membership.contents import (
    Events,
    end_clients,
    has_databases,
    have_others_copy,
    make_table,
    writable,
)
from nomad_stateful.agent.membership.decision import Answer, Group, Step, left_alone, next_step
from nomad_stateful.agent.membership.hosts import Hosts
from nomad_stateful.agent.server import ServerError, own_session, session, wait_for_group
from nomad_stateful.databases.mysql.group import GRANTS
from nomad_stateful.databases.mysql.group_start import MemberTransactions
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.waiting import Stopwatch

ANSWERS_WITHIN_S = 1.0
# START waits for the view, and for what was received to be executed.
_STARTS_WITHIN_S = 600.0
_HEARS_WITHIN_S = 10.0
# From the first answer to START. Answers do not change under the locks; an agent that was paused asks anew.
_OLDEST_S = 3.0
# A session that idles for longer is ended by its server, and its lock with it.
_IDLE_S = 10
_LOCK = "nomad_stateful.group"
_MADE = "SELECT COUNT(*) FROM nomad_stateful.replication_group WHERE id = %s AND accounts = %s"
_LOOK = """
SELECT @@server_uuid, @@GLOBAL.group_replication_group_name, me.member_state, me.member_role,
  @@GLOBAL.super_read_only, @@GLOBAL.offline_mode,
  (SELECT COUNT(*) FROM performance_schema.replication_group_members),
  (SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state <> 'UNREACHABLE'),
  (SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'),
  (SELECT GROUP_CONCAT(member_host) FROM performance_schema.replication_group_members),
  @@GLOBAL.gtid_executed,
  (SELECT received_transaction_set FROM performance_schema.replication_connection_status
    WHERE channel_name = 'group_replication_applier')
FROM performance_schema.replication_group_members me
WHERE me.member_id IN (@@server_uuid, '')
"""


class ChangedError(Exception):
    """The step is not to be done any more, or not yet; the text says why."""


def look(cursor: Cursor) -> Answer:
    """Asks a server about itself. Raises ServerError where it cannot be in a group."""
    cursor.execute(_LOOK)
    row = cursor.fetchone()
    if row is None:
        raise ServerError("the plugin group_replication is not loaded")
    server_id, group_id, state, role, read_only, offline, members, reachable, online, view, executed, received = row
    return Answer(
        server_id=str(server_id),
        group_id=str(group_id).lower(),
        state=str(state),
        role=str(role or ""),
        read_only=bool(read_only),
        offline_mode=bool(offline),
        members=int(members),
        reachable=int(reachable),
        online=int(online),
        transactions=MemberTransactions(GtidSet.parse(str(executed)), GtidSet.parse(str(received or ""))),
        view=frozenset(filter(None, str(view or "").split(","))),
    )


class Member:
    """A member's own server, and its peers."""

    def __init__(
        self,
        group: Group,
        options: Path,
        replication: Path,
        stopped_events: Path,
        *,
        authority: Path | None = None,
        hosts: Path | None = None,
        has_scripts: bool = False,
    ) -> None:
        """`has_scripts` says that a first start of the server ran scripts. `stopped_events` is a file (`Events`)."""
        self.group = group
        self._has_scripts = has_scripts
        self._options = options
        self._replication = replication
        self._authority = authority
        self.hosts = Hosts(hosts)
        self._events = Events(stopped_events)

    def own_session(self, within_s: float = ANSWERS_WITHIN_S) -> AbstractContextManager[Cursor]:
        """Opens a session of root's by the socket, in which each question may take so long."""
        return own_session(self._options, ANSWERS_WITHIN_S, within_s)

    def look(self) -> Answer:
        """Asks the own server. Raises ServerError."""
        with self.own_session() as cursor:
            return look(cursor)

    def ask_peers(self) -> dict[str, Answer | str]:
        """Asks all peers at once; the place of an answer has why there is none."""

        def ask(name: str) -> Answer | str:
            try:
                with self._peer_session(name) as cursor:
                    return look(cursor)
            except (ServerError, ValueError) as error:
                return str(error)

        with ThreadPoolExecutor() as threads:
            return dict(zip(self.group.peers, threads.map(ask, self.group.peers), strict=True))

    def prepare(self) -> None:
        """Makes the group's account on the own server, unlogged; nobody else writes meanwhile. Raises ServerError."""
        account = Account.read(self._replication)
        name = "%s@'%%'"
        with self.own_session() as cursor, writable(cursor, self._events):
            cursor.execute("SET SESSION sql_log_bin = 0")
            for verb in ("CREATE USER IF NOT EXISTS", "ALTER USER"):
                cursor.execute(f"{verb} {name} IDENTIFIED BY %s REQUIRE SSL", (account.user, account.password))
            for grant in GRANTS:
                cursor.execute(grant.format(account=name), (account.user,))

    def join(self) -> None:
        """Has the own server join the group that its seeds are in. Raises ChangedError, ServerError."""
        with self._locked(self.own_session(_STARTS_WITHIN_S)) as cursor:
            if not look(cursor).was_in_group and has_databases(cursor):
                # What a server that was none of the group's has is in no log of the group.
                cursor.execute("SET GLOBAL group_replication_clone_threshold = 1")
            self._start(cursor, begins=False)

    def begin(self, decide: Callable[[Group, Mapping[str, Answer | str]], Step] = next_step) -> None:
        """Begins the group, if that is the next step under the locks of all. Raises ChangedError, ServerError."""
        with ExitStack() as held:
            own = held.enter_context(self._locked(self.own_session(_STARTS_WITHIN_S)))
            cursors = {name: held.enter_context(self._locked(self._peer_session(name))) for name in self.group.peers}
            age = Stopwatch()
            answers = {self.group.own: look(own), **{name: look(cursor) for name, cursor in cursors.items()}}
            step = decide(self.group, answers)
            if step.kind != "begin" or answers[self.group.own].state != "OFFLINE":
                raise ChangedError(step.why)
            if age.seconds > _OLDEST_S:
                raise ChangedError(f"the answers took {age.seconds:.0f} s")
            if not answers[self.group.own].was_in_group and (self._has_scripts or has_databases(own)):
                have_others_copy(own, answers[self.group.own], self._events)
            self._start(own, begins=True)

    def make_accounts(self, statements: Sequence[str]) -> None:
        """Runs statements on the own server, which logs them for the others, unless it has. Raises ServerError."""
        digest = sha256("\n".join(statements).encode()).hexdigest()
        with self.own_session(_STARTS_WITHIN_S) as cursor:
            # The row of another group may have come with a dump.
            known = (self.group.group_id, digest)
            make_table(cursor)
            cursor.execute(_MADE, known)
            if cursor.fetchone() != (0,):
                return
            for statement in statements:
                cursor.execute(statement)
            cursor.execute("REPLACE INTO nomad_stateful.replication_group VALUES (%s, %s)", known)
            cursor.execute("COMMIT")

    def mark(self) -> None:
        """Commits a transaction, so that the group is known to have begun. Raises ServerError."""
        with self.own_session(_STARTS_WITHIN_S) as cursor:
            # Nothing that locks the accounts until it is committed: members that join log in meanwhile.
            make_table(cursor)
            cursor.execute("REPLACE INTO nomad_stateful.replication_group VALUES (%s, '')", (self.group.group_id,))
            cursor.execute("COMMIT")

    def end_clients(self) -> None:
        """Ends the sessions of clients on the own server, but for the other members'. Raises ServerError."""
        user = Account.read(self._replication).user
        with self.own_session() as cursor:
            end_clients(cursor, user)

    def leave(self) -> None:
        """Has the own server leave a group that it was expelled from. Raises ChangedError, ServerError."""
        with self._locked(self.own_session(_STARTS_WITHIN_S)) as cursor:
            cursor.execute("STOP GROUP_REPLICATION")

    def go_on_alone(self) -> None:
        """Has the own server be all of its group, where it may still. Raises ChangedError, ServerError."""
        with self._locked(self.own_session(_STARTS_WITHIN_S)) as cursor:
            own = look(cursor)
            if own.has_majority or left_alone(self.group, own, self.ask_peers()) != "go on":
                raise ChangedError("another member is in the group again, or has more")
            cursor.execute("SET GLOBAL group_replication_force_members = @@GLOBAL.group_replication_local_address")
            # Replication does not start while it is set.
            cursor.execute("SET GLOBAL group_replication_force_members = ''")

    def hear_from_group(self) -> None:
        """Asks what the group has to order first: one that it has expelled gets no answer. Raises ServerError."""
        with self.own_session(_HEARS_WITHIN_S) as cursor:
            wait_for_group(cursor)
            # Of no table, which would be read from the disk; what is of performance_schema alone is not held.
            cursor.execute("SELECT group_replication_get_write_concurrency()")

    def rejoins(self) -> bool:
        """Returns whether the own server tries by itself to come back. Raises ServerError."""
        with self.own_session() as cursor:
            cursor.execute(
                "SELECT COUNT(*) FROM performance_schema.threads WHERE name = 'thread/group_rpl/THD_autorejoin'"
            )
            return cursor.fetchone() != (0,)

    def set_global(self, name: str, value: str) -> None:
        """Sets a variable of the own server. Raises ServerError."""
        with self.own_session() as cursor:
            cursor.execute(f"SET GLOBAL {name} = {value}")

    def complaints(self, seconds: float) -> list[str]:
        """Returns what the own server logged about replication in the last seconds, or nothing."""
        try:
            with self.own_session() as cursor:
                cursor.execute(
                    "SELECT data FROM performance_schema.error_log WHERE prio IN ('Error', 'Warning') AND "
                    "subsystem = 'Repl' AND logged > NOW(6) - INTERVAL %s SECOND ORDER BY logged DESC LIMIT 4",
                    (int(seconds) + 1,),
                )
                return [str(data) for (data,) in reversed(cursor.fetchall())]
        except ServerError:
            return []

    def _start(self, cursor: Cursor, *, begins: bool) -> None:
        """Starts replication in a session that has the lock of the own server."""
        account = Account.read(self._replication)
        # Of an agent that was ended before it could take them back both may be set.
        cursor.execute("SET GLOBAL group_replication_force_members = ''")
        cursor.execute(f"SET GLOBAL group_replication_bootstrap_group = {'ON' if begins else 'OFF'}")
        try:
            cursor.execute("START GROUP_REPLICATION USER = %s, PASSWORD = %s", (account.user, account.password))
        finally:
            if begins:
                cursor.execute("SET GLOBAL group_replication_bootstrap_group = OFF")

    @contextmanager
    def _locked(self, opened: AbstractContextManager[Cursor]) -> Iterator[Cursor]:
        with opened as cursor:
            cursor.execute("SET SESSION wait_timeout = %s", (_IDLE_S,))
            cursor.execute("SELECT GET_LOCK(%s, 0)", (_LOCK,))
            if cursor.fetchone() != (1,):
                raise ChangedError("replication is being started by another session")
            yield cursor

    def _peer_session(self, name: str) -> AbstractContextManager[Cursor]:
        account = Account.read(self._replication)
        return session(
            connect_timeout=ANSWERS_WITHIN_S,
            read_timeout=ANSWERS_WITHIN_S,
            host=name,
            port=self.group.members[name],
            address=self.hosts.address(name),
            user=account.user,
            password=account.password,
            ssl=verified(self._authority),
        )
