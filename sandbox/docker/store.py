"""Docker's own store with every image in it, made once: instances start from it without copying a layer."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from sandbox.docker import archive, images, layers
from sandbox.docker.errors import DockerError
from sandbox.docker.images import Image
from sandbox.docker.layers import Layer
from sandbox.settings import SandboxSettings
from tools.packages import find_command
from tools.toolchain import cache, progress

FEATURES: Final = {"containerd-snapshotter": False}
DRIVER: Final = "overlay2"
_LIST: Final = "images.json"
_READY_TIMEOUT_S: Final = 60.0
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
_LOAD_TIMEOUT_S: Final = 600.0


@dataclass(frozen=True)
class Store:
    """A store in the cache."""

    folder: Path

    @property
    def data(self) -> Path:
        """What a daemon's data folder starts as: everything but the layers, to which it has links."""
        return self.folder / "data"

    @property
    def layers(self) -> Path:
        """The layers' folders."""
        return self.folder / "layers"

    @property
    def names(self) -> dict[str, str]:
        """The images by name, each with where its program is from."""
        listed: dict[str, str] = json.loads((self.folder / _LIST).read_text(encoding="utf-8"))
        return listed

    def tag(self, repository: str) -> str:
        """The tag of an image.

        Raises:
            DockerError: there is no such image.
        """
        for name in self.names:
            if name.rpartition(":")[0] == repository:
                return name.rpartition(":")[2]
        raise DockerError(f"There is no image {repository} in the sandbox.")


def of_sandbox(settings: SandboxSettings, official: Path | None) -> Store:
    """Returns the store of a sandbox, which keeps the one it was started with.

    Raises:
        DockerError: as for `ensure`.
    """
    note = settings.docker_dir / "store"
    kept = Path(note.read_text(encoding="utf-8").strip()) if note.is_file() else None
    if kept is not None and kept.is_dir():
        return Store(kept)
    store = ensure(official)
    settings.docker_dir.mkdir(exist_ok=True)
    note.write_text(f"{store.folder}\n", encoding="utf-8")
    return store


def ensure(official: Path | None) -> Store:
    """Returns the store, made if it is not there yet: minutes the first time.

    Raises:
        DockerError: an image cannot be built or loaded.
    """
    wanted = images.catalogue(official)
    folder = layers.root() / f"store-{_key(wanted)}"
    if not folder.is_dir():
        with cache.locked(layers.root()):
            if not folder.is_dir():
                built = {image: tuple(_layers(image)) for image in wanted}
                _check_series(built)
                with progress.step("loading the images into a store", 20):
                    cache.publish(folder, partial(_fill, built))
    return Store(folder)


def daemon_version() -> str:
    """What dockerd says about itself.

    Raises:
        DockerError: it cannot be run.
    """
    program = find_command("dockerd") or "dockerd"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DockerError(f"`dockerd --version` failed: {done.stderr.strip()}")
    return done.stdout.strip()


def _key(wanted: tuple[Image, ...]) -> str:
    parts = [repr(vars(image) | {"layers": [recipe.key for recipe in image.layers]}) for image in wanted]
    return cache.digest(daemon_version(), *parts)


def _layers(image: Image) -> Iterator[Layer]:
    for recipe in image.layers:
        for lower in recipe.below:
            layers.build(lower)
        yield layers.build(recipe)


def _check_series(built: dict[Image, tuple[Layer, ...]]) -> None:
    for image, parts in built.items():
        version = image.version(parts)
        if image.repository == "mysql" and not image.older and not version.startswith(f"{images.MYSQL_SERIES}."):
            raise DockerError(
                f"Debian's suite {layers.SUITE} has MySQL {version} now, and the project is run with "
                f"{images.MYSQL_SERIES}: try that series, then change MYSQL_SERIES and the examples."
            )


def _fill(built: dict[Image, tuple[Layer, ...]], folder: Path) -> None:
    packed = folder.with_name("images.tar")
    archive.write(packed, built)
    data = folder / "data"
    with _daemon(data) as api:
        _load(api, packed)
    for name in ("containers", "tmp", "runtimes", "network", "swarm", "containerd", "buildkit", "plugins", "trust"):
        shutil.rmtree(data / name, ignore_errors=True)
    _part_from_layers(folder, data)
    listed = {image.name(parts): image.note for image, parts in built.items()}
    (folder / _LIST).write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")


def _part_from_layers(folder: Path, data: Path) -> None:
    """Moves the layers beside the rest, where every instance reads them."""
    (folder / "layers").mkdir()
    for layer in sorted((data / DRIVER).iterdir()):
        if layer.name != "l" and layer.is_dir():
            layer.rename(folder / "layers" / layer.name)


@contextmanager
def _daemon(data: Path) -> Iterator[Path]:
    """Runs a daemon in namespaces of its own, for as long as the block lasts; gives its socket."""
    with tempfile.TemporaryDirectory(prefix="docker-") as folder:
        home = Path(folder)
        config = {
            "data-root": str(data),
            "exec-root": str(home / "exec"),
            "pidfile": str(home / "pid"),
            "hosts": [f"unix://{home}/api"],
            "storage-driver": DRIVER,
            "features": FEATURES,
            "bridge": "none",
            "iptables": False,
            "ip6tables": False,
        }
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


def _load(api: Path, packed: Path) -> None:
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
