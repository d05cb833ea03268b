"""A docker daemon beside the instances, for a moment: to load images, and to see whether one runs here."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from sandbox.docker.errors import DockerError
from tools.packages import find_command

FEATURES: Final = {"containerd-snapshotter": False}
DRIVER: Final = "overlay2"
_READY_TIMEOUT_S: Final = 60.0
_LOAD_TIMEOUT_S: Final = 600.0
# The daemon writes into /etc/docker and /opt/containerd too, which are not to be the machine's. It is stopped in good
# order when its input ends, which it also does when whoever started this dies.
_UNTIL_CLOSED: Final = """
cp -a /etc "$1/etc"
mount --bind "$1/etc" /etc
mount -t tmpfs tmpfs /opt
mount -t tmpfs tmpfs /run
exec 3<&0
"$0" --config-file="$1/daemon.json" &
daemon=$!
{ read -r _ <&3; kill "$daemon"; } &
wait "$daemon"
"""


@cache
def version() -> str:
    """What dockerd says about itself.

    Raises:
        DockerError: it cannot be run.
    """
    program = find_command("dockerd") or "dockerd"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DockerError(f"`dockerd --version` failed: {done.stderr.strip()}")
    return done.stdout.strip()


@contextmanager
def running(data: Path, *, network: bool = False) -> Iterator[Path]:
    """Runs a daemon for as long as the block lasts, on request with a network for containers; gives its socket.

    Raises:
        DockerError: it does not run.
    """
    with tempfile.TemporaryDirectory(prefix="docker-") as folder:
        home = Path(folder)
        config: dict[str, object] = {
            "data-root": str(data),
            "exec-root": str(home / "exec"),
            "pidfile": str(home / "pid"),
            "hosts": [f"unix://{home}/api"],
            "storage-driver": DRIVER,
            "features": FEATURES,
            "ip6tables": False,
        }
        if not network:
            config |= {"bridge": "none", "iptables": False}
        (home / "daemon.json").write_text(json.dumps(config), encoding="utf-8")
        inside = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        daemon = find_command("dockerd") or "dockerd"
        log = home / "log"
        with (
            log.open("wb") as output,
            subprocess.Popen(
                [*inside, "sh", "-c", _UNTIL_CLOSED, daemon, folder],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            ) as process,
        ):
            # Leaving the block closes its input and waits for it.
            _await(home / "api", process, log)
            yield home / "api"


def _await(api: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while True:
        try:
            if _call(api, "GET", "/_ping")[0] == 200:
                return
        except OSError:
            pass
        if process.poll() is not None or time.monotonic() > deadline:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
            raise DockerError(f"dockerd does not run here; it said: {' | '.join(lines) or 'nothing'}")
        time.sleep(0.1)


def load(api: Path, packed: Path) -> None:
    """Has the daemon load an archive of images. Raises DockerError."""
    status, said = _call(api, "POST", "/images/load?quiet=1", packed)
    lines = [json.loads(line) for line in said.splitlines() if line.strip()]
    refused = [line["error"] for line in lines if "error" in line]
    if status != 200 or refused:
        raise DockerError(f"docker does not take the images: {'; '.join(refused) or said}")


class _Connection(http.client.HTTPConnection):
    """HTTP over the daemon's socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_LOAD_TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _call(api: Path, method: str, path: str, body: Path | None = None) -> tuple[int, str]:
    connection = _Connection(api)
    try:
        if body is None:
            connection.request(method, path)
        else:
            with body.open("rb") as file:
                headers = {"Content-Type": "application/x-tar", "Content-Length": str(body.stat().st_size)}
                connection.request(method, path, file, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()
