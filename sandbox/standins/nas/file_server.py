"""The file server as a host on the sandbox's network."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sandbox.machine import naming, network
from sandbox.machine.commands import run
from sandbox.machine.errors import CloudError
from sandbox.machine.machine import child_of
from sandbox.machine.namespaces import network_of
from sandbox.settings import CODE, SandboxSettings
from sandbox.standins.nas import openssh
from sandbox.standins.nas.layout import Nas

NAMESPACES: Final = ("unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc")
_TIMEOUT_S: Final = 60.0
_MAC: Final = "02:00:00:00:00:02"


class FileServer:
    """A running file server; it ends when it is stopped, or with the process that started it."""

    def __init__(self, folder: Path, log_file: Path, address: str, connect: Callable[[int], None] | None) -> None:
        """Starts it; `connect` gives the network namespace of a process its link, without it it shares ours.

        Raises:
            CloudError: it does not come up; its last words are in the message.
        """
        tree = openssh.ensure()
        Nas(folder).prepare()
        self._log = log_file
        log_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        inside = [sys.executable, "-m", "sandbox.standins.nas.server", str(folder), str(tree or ""), address]
        own_network = ["--net"] if connect else []
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*NAMESPACES, *own_network, "--", *inside],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**_environment(), "PYTHONPATH": str(CODE)},
                cwd="/",
                start_new_session=True,
            )
        try:
            self._await("ready")
            if connect:
                connect(child_of(self._process.pid).pid)
            self._tell()
            self._await("listening")
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends it with everything in its namespaces; mounts of its shares that are left are dead."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _tell(self) -> None:
        assert self._process.stdin is not None  # noqa: S101 - asked for above
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"connected\n")
            self._process.stdin.flush()

    def _await(self, word: str) -> None:
        assert self._process.stdout is not None  # noqa: S101 - asked for above
        descriptor = self._process.stdout.fileno()
        readable, _, _ = select.select([descriptor], [], [], _TIMEOUT_S)
        if readable and os.read(descriptor, 64).decode().strip() == word:
            return
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
        raise CloudError(f"the file server did not start; its log says: {' | '.join(lines) or 'nothing'}")


def start(settings: SandboxSettings) -> FileServer:
    """Starts the sandbox's file server on its bridge; raises CloudError."""
    address = settings.file_server
    link = naming.link_name(settings.name, "nas")

    def connect(pid: int) -> None:
        run("nsenter", "--target", str(pid), "--net", "ip", "link", "set", "lo", "up")
        network.connect(settings, link, network_of(pid), address, _MAC)

    return FileServer(settings.nas_dir, settings.log_dir / "nas.log", str(address), connect)


def _environment() -> dict[str, str]:
    # Nothing of the operator's shell.
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
