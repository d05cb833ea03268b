"""Commands on the file server over one SSH connection, which the driver speaks itself as upstream does.

Upstream knows no way to be told the server's key, and takes any.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

import asyncssh

from sandbox.standins.csi import logs
from sandbox.standins.csi.commands import CommandError, Result
from sandbox.standins.democratic_csi.config import SshConnection

T = TypeVar("T")
TIMEOUT_S: Final = 120.0
_LOGIN_TIMEOUT_S: Final = 20.0


class Ssh:
    """A way to the file server; connects when it is first needed, and again when it was cut."""

    def __init__(self, connection: SshConnection) -> None:
        self._to = connection
        self._loop = asyncio.new_event_loop()
        self._connection: asyncssh.SSHClientConnection | None = None
        self._lock = asyncio.Lock()
        threading.Thread(target=self._loop.run_forever, name="ssh", daemon=True).start()

    def run(self, command: str) -> Result:
        """Runs a line of the login shell there; raises CommandError where that cannot be."""
        logs.info("Running command on the server", level=4, command=command)
        try:
            return self._wait(self._run(command), TIMEOUT_S)
        except (OSError, asyncssh.Error, TimeoutError) as error:
            reason = str(error) or type(error).__name__
            raise CommandError(f"ssh {self._to.username}@{self._to.host} port {self._to.port}: {reason}") from None

    async def _run(self, command: str) -> Result:
        connection = await self._connected()
        done = await connection.run(command, stderr=asyncssh.STDOUT, encoding="utf-8", errors="replace")
        return Result(done.exit_status if done.exit_status is not None else 255, str(done.stdout or ""))

    async def _connected(self) -> asyncssh.SSHClientConnection:
        async with self._lock:
            if self._connection is None or self._connection.is_closed():
                self._connection = await asyncssh.connect(
                    self._to.host,
                    self._to.port,
                    username=self._to.username,
                    client_keys=[asyncssh.import_private_key(self._to.private_key)],
                    known_hosts=None,
                    agent_path=None,
                    config=None,
                    keepalive_interval=10,
                    login_timeout=_LOGIN_TIMEOUT_S,
                )
            return self._connection

    def close(self) -> None:
        """Ends the connection."""
        if self._connection is not None:
            self._loop.call_soon_threadsafe(self._connection.close)

    def _wait(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)
