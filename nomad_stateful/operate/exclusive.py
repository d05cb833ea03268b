"""One command at a time changes a stack: each takes the lock of the stack's variable in Nomad.

Pulumi's lock is there for one update, and these commands are several updates with a stopped service between them.
"""

import getpass
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadError, is_transient
from nomad_stateful.nomad.ownership import FOLDER, escaped
from nomad_stateful.operate import stack
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.errors import OperateError, TimedOutError
from nomad_stateful.waiting import repeat

_GRACE_S = 2
_POLL_S = 0.5
TTL_S = 10
"""Time to live: Nomad's shortest."""
FREED_AFTER_S = 21
"""When Nomad frees a lock that is not renewed: after twice the time to live, and the delay."""
_LOCK_DELAY_S = 1
_RENEW_S = 2.5
_CONFLICT = 409


class BusyError(OperateError):
    """Another command changes the stack."""


class VariableLock:
    """The lock of one variable; a process that ends frees it, and Nomad frees that of one that was killed.

    https://developer.hashicorp.com/nomad/docs/concepts/variables#locks
    """

    def __init__(self, nomad: NomadApi, namespace: str, path: str, items: Mapping[str, str]) -> None:
        """Takes what others may read of its holder."""
        self._nomad = nomad
        self._namespace = namespace
        self._path = path
        # Two commands may say the same of themselves.
        self._items = {**items, "turn": secrets.token_hex(8)}
        self._id = ""
        self._lost = False
        self._one_at_a_time = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=repeat, args=(self._renew, self._ended, _RENEW_S), daemon=True)

    def take(self) -> bool:
        """Takes the lock; returns whether it was free. Raises NomadError."""
        if not self._acquire():
            return False
        self._thread.start()
        return True

    def holder(self) -> Mapping[str, str]:
        """Returns what is said of whoever else has it; nothing where nobody has. Raises NomadError."""
        found = self._found()
        return {} if found == self._items else found

    def is_held(self) -> bool:
        """Renews the lock; returns whether it is held, and nobody else had it since it was taken. Raises NomadError."""
        with self._one_at_a_time:
            try:
                self._put("lock-renew", {"ID": self._id})
            except NomadApiError as error:
                if is_transient(error):
                    raise
                # Nomad has freed it, as after a long pause of this machine. Whoever takes it puts items of his own
                # there, and removes the variable at the end.
                self._lost = self._lost or self._found() != self._items
                return self._acquire() and not self._lost
            return not self._lost

    def free(self) -> None:
        """Frees the lock and removes its variable; best effort, since Nomad frees it anyway."""
        self._ended.set()
        if not self._id:
            return
        self._thread.join()
        with suppress(NomadError):
            self._put("lock-release", {"ID": self._id})
            self._nomad.delete(f"var/{self._path}", namespace=self._namespace)

    def _acquire(self) -> bool:
        try:
            taken = self._put("lock-acquire", {"TTL": f"{TTL_S}s", "LockDelay": f"{_LOCK_DELAY_S}s"})
        except NomadApiError as error:
            if error.status == _CONFLICT:
                return False
            raise
        self._id = str(taken["Lock"]["ID"])
        return True

    def _renew(self) -> float:
        try:
            self.is_held()
        except NomadError as error:
            print(f"    the lock {self._path} is not renewed: {error}", file=sys.stderr)
        return _RENEW_S

    def _found(self) -> Mapping[str, str]:
        found = self._nomad.find(f"var/{self._path}", namespace=self._namespace) or {}
        return found.get("Items") or {}

    def _put(self, operation: str, lock: dict[str, str]) -> dict[str, dict[str, str]]:
        # Nomad takes items with an acquisition only.
        items = self._items if operation == "lock-acquire" else None
        body = {"Namespace": self._namespace, "Path": self._path, "Items": items, "Lock": lock}
        params: dict[str, Any] = {"namespace": self._namespace, operation: ""}
        found: dict[str, dict[str, str]] = self._nomad.put(f"var/{self._path}", body, **params)
        return found


@contextmanager
def exclusive(nomad: NomadApi, command: str) -> Iterator[Callable[[], None]]:
    """A context in which no other command changes the stack; gives what raises BusyError where one did after all.

    That asks Nomad, and raises NomadError without an answer. A command that was killed is waited for, until Nomad has
    freed its lock. Raises BusyError and NomadError.
    """
    path = f"{FOLDER}/operators/{'/'.join(map(escaped, stack.tag().split('/')))}"
    mine = {
        "command": command,
        "by": f"{_user()}@{socket.gethostname()} (pid {os.getpid()})",
        "since": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
    lock = VariableLock(nomad, stack.namespace(), path, mine)
    _take(lock)

    def refuse_lost() -> None:
        if not lock.is_held():
            other = _others(lock, "another command has changed the stack")
            raise BusyError(
                f"{other}: it began when this command had not reached Nomad for long. Run the same command again after "
                "that"
            )

    try:
        yield refuse_lost
    finally:
        lock.free()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # in a container without an entry for its user
        return f"uid-{os.getuid()}"


def _take(lock: VariableLock) -> None:
    if lock.take():
        return
    what = f"{_others(lock)}; one that was killed has the lock for {FREED_AFTER_S} s"
    try:
        wait_for(what, lock.take, FREED_AFTER_S + _GRACE_S, "", _POLL_S)
    except TimedOutError:
        raise BusyError(
            f"{_others(lock)}, and commands change a stack one at a time: nothing was changed. Run the same command "
            f"again when that has ended; if it hangs, end it there: {FREED_AFTER_S} s later its lock is free"
        ) from None


def _others(lock: VariableLock, unknown: str = "another command changes the stack") -> str:
    known = lock.holder()
    if not known:
        return unknown
    return f"`nomad-stateful {known.get('command')}` of {known.get('by')} changes the stack since {known.get('since')}"
