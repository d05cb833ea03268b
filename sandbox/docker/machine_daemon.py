"""A docker daemon beside the instances, for a moment: to load images, and to see whether one runs here."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final, Literal

import httpx2

from sandbox.docker.errors import DockerError
from tools.packages import find_command

DRIVER: Final = "overlay2"
_READY_TIMEOUT_S: Final = 60.0
_LOAD_TIMEOUT_S: Final = 600.0
Network = Literal["none", "containers", "machine"]
# The daemon writes into /etc/docker and /opt/containerd too, which are not to be the machine's. It is stopped in good
# order when its input ends, which it also does when whoever started this dies. A link in the place of resolv.conf leads
# into /run.
_UNTIL_CLOSED: Final = """
cp -a /etc "$1/etc"
cp -L --remove-destination /etc/resolv.conf "$1/etc/" 2>/dev/null || true
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


def config(data: str, run: str) -> dict[str, object]:
    """Returns a daemon's configuration: its data in one folder, its socket and what else it runs with in another."""
    return {
        "data-root": data,
        "exec-root": f"{run}/docker",
        "pidfile": f"{run}/docker.pid",
        "hosts": [f"unix://{run}/docker.sock"],
        "storage-driver": DRIVER,
        "features": {"containerd-snapshotter": False},
        "ip6tables": False,
    }


@contextmanager
def running(data: Path, network: Network = "none") -> Iterator[httpx2.Client]:
    """Runs a daemon for as long as the block lasts and gives its API.

    Its network is none, one for containers, or the machine's, where it changes nothing.

    Raises:
        DockerError: it does not run.
    """
    with tempfile.TemporaryDirectory(prefix="docker-") as folder:
        home = Path(folder)
        settings = config(str(data), folder)
        if network != "containers":
            settings |= {"bridge": "none", "iptables": False, "ip-forward": False}
        (home / "daemon.json").write_text(json.dumps(settings), encoding="utf-8")
        inside = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if network != "machine":
            inside.append("--net")
        daemon = find_command("dockerd") or "dockerd"
        log, socket = home / "log", home / "docker.sock"
        with (
            log.open("wb") as output,
            subprocess.Popen(
                [*inside, "sh", "-c", _UNTIL_CLOSED, daemon, folder],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            ) as process,
            _client(socket) as api,
        ):
            # Leaving the block closes its input and waits for it.
            _await(socket, api, process, log)
            yield api


def _client(socket: Path) -> httpx2.Client:
    transport = httpx2.HTTPTransport(uds=str(socket))
    return httpx2.Client(transport=transport, base_url="http://docker", timeout=_LOAD_TIMEOUT_S)


def _await(socket: Path, api: httpx2.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while True:
        try:
            if socket.exists() and api.get("/_ping").is_success:
                return
        except httpx2.TransportError:
            pass
        if process.poll() is not None or time.monotonic() > deadline:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
            raise DockerError(f"dockerd does not run here; it said: {' | '.join(lines) or 'nothing'}")
        time.sleep(0.1)


def load(api: httpx2.Client, packed: Path) -> None:
    """Has the daemon load an archive of images. Raises DockerError."""
    with packed.open("rb") as file:
        answer = api.post("/images/load?quiet=1", content=file, headers={"Content-Type": "application/x-tar"})
    if said := refusal(answer):
        raise DockerError(f"docker does not take the images: {said}")


def refusal(answer: httpx2.Response) -> str:
    """Returns why the daemon did not do what it was asked for, empty when it did: it may say so after status 200."""
    if not answer.is_success:
        return str(answer.json()["message"])
    lines = [json.loads(line) for line in answer.text.splitlines() if line.strip()]
    return "; ".join(line["error"] for line in lines if "error" in line)
