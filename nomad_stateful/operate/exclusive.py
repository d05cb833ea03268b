"""One command at a time changes a stack: each takes the lock of the stack's variable in Nomad.

Pulumi's lock is there for one update, and these commands are several updates with a stopped service between them.
"""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.ownership import FOLDER, escaped
from nomad_stateful.operate import stack
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.errors import OperateError, TimedOutError
from nomad_stateful.operate.variable_lock import FREED_AFTER_S, VariableLock

_GRACE_S = 2
_POLL_S = 0.5


class BusyError(OperateError):
    """Another command changes the stack."""


@contextmanager
def exclusive(nomad: NomadApi, command: str) -> Iterator[Callable[[], None]]:
    """A context in which no other command changes the stack; gives what raises BusyError where one does after all.

    A command that was killed is waited for, until Nomad has freed its lock. Raises BusyError and NomadError.
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
        if lock.lost:
            raise BusyError(f"{_others(lock)}: it began when this command had not reached Nomad for long")

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


def _others(lock: VariableLock) -> str:
    known = lock.holder()
    if not known:
        return "another command changes the stack"
    return f"`nomad-stateful {known.get('command')}` of {known.get('by')} changes the stack since {known.get('since')}"
