"""Commands on the file server, by the machine's ssh."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sandbox.csi.commands import run

from .config import SshConnection

TIMEOUT_S: Final = 120.0
_OPTIONS: Final = (
    "BatchMode=yes",
    "StrictHostKeyChecking=no",
    "UserKnownHostsFile=/dev/null",
    "ConnectTimeout=10",
    "LogLevel=ERROR",
)


class Ssh:
    """A way to the file server; its key is in a file that only this user can read, and that goes with `close`."""

    def __init__(self, connection: SshConnection, folder: Path) -> None:
        """The key file is made in `folder`, which should be kept in memory; raises OSError."""
        self._connection = connection
        place = folder if os.access(folder, os.W_OK) else None
        descriptor, name = tempfile.mkstemp(prefix=".ssh-key-", dir=place)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(connection.private_key)
        self._key_file = Path(name)

    def run(self, words: Sequence[str]) -> str:
        """Runs a command there and gives its output; raises CommandError."""
        to = self._connection
        options = [part for option in _OPTIONS for part in ("-o", option)]
        argv = ["ssh", "-i", str(self._key_file), "-p", str(to.port), *options, f"{to.username}@{to.host}"]
        return run([*argv, shlex.join(words)], timeout_s=TIMEOUT_S).output

    def close(self) -> None:
        """Removes the key file."""
        self._key_file.unlink(missing_ok=True)
