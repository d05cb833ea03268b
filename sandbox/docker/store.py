"""Docker's own store with every image in it, made once: instances start from it without copying a layer."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from sandbox.docker import archive, images, layers, machine_daemon, mirror, pulled
from sandbox.docker.errors import DockerError
from sandbox.docker.image import Image
from sandbox.docker.layers import Layer
from sandbox.docker.machine_daemon import DRIVER
from sandbox.settings import SandboxSettings, usage
from tools.toolchain import cache, progress

_LIST: Final = "images.json"
_USERS: Final = "users"
_KEPT: Final = 3
"""Stores that stay in the cache although no sandbox has them: each is about a gigabyte, and a new agent makes one."""


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

    @property
    def exec_root(self) -> Path:
        """The root of tasks that are no containers: busybox alone."""
        return self.folder / "exec-root"


EVERY_IMAGE: Final = ("",)
"""Stands for the names of all images."""


def of_sandbox(settings: SandboxSettings, official: Path | None = None, named: Iterable[str] = ()) -> Store:
    """Returns the store of a sandbox, which keeps the one it was started with; it has the images that are named.

    Raises:
        DockerError: as for `ensure`.
    """
    note = settings.docker_dir / "store"
    kept = Store(Path(note.read_text(encoding="utf-8").strip())) if note.is_file() else None
    if kept is not None and kept.folder.is_dir():
        lacking = [name for name in named if not _has(kept, name, settings, official)]
        if lacking:
            what = f"the image {lacking[0]}" if lacking[0] else "all images"
            raise DockerError(f"The sandbox was started without {what}, and keeps its own: run `{usage.DOWN}` first.")
        return kept
    store = ensure(settings, official, named)
    settings.docker_dir.mkdir(exist_ok=True)
    note.write_text(f"{store.folder}\n", encoding="utf-8")
    with (store.folder / _USERS).open("a", encoding="utf-8") as users:
        users.write(f"{note}\n")
    return store


def _has(store: Store, name: str, settings: SandboxSettings, official: Path | None) -> bool:
    """Returns whether a store has an image of ours by its name, or each where it is empty."""
    ours = _built(settings, official)
    if not name:
        return len(store.names) >= len(settings.images) + len(ours)
    return not any(image.is_named(name) for image in ours) or any(one.startswith(name) for one in store.names)


def ensure(settings: SandboxSettings, official: Path | None, named: Iterable[str] = ()) -> Store:
    """Returns the store, made if it is not there yet: minutes the first time.

    Raises:
        DockerError: docker does not run here, or an image cannot be pulled, built or loaded.
    """
    wanted = _wanted(settings, official, named)
    folder = _folder(settings, wanted)
    if folder.is_dir():
        os.utime(folder)
    else:
        with cache.locked(layers.root()):
            if not folder.is_dir():
                archives = {image.label: pulled.ensure(image) for image in settings.images}
                built = {image: tuple(map(layers.build, image.layers)) for image in wanted}
                _check_series(built)
                with progress.step("loading the images into a store", 20):
                    cache.publish(folder, partial(_fill, built, archives))
                prune(layers.root())
    return Store(folder)


def prune(root: Path) -> None:
    """Removes the stores that no sandbox has, but for those used last. The caller holds the cache's lock."""
    stores = sorted(root.glob("store-*"), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in stores[_KEPT:]:
        if not _is_used(folder):
            cache.remove(folder)


def _is_used(folder: Path) -> bool:
    users = folder / _USERS
    notes = users.read_text(encoding="utf-8").splitlines() if users.is_file() else []
    return any(Path(note).is_file() and Path(note).read_text(encoding="utf-8").strip() == str(folder) for note in notes)


def require_docker(settings: SandboxSettings, official: Path | None, named: Iterable[str] = ()) -> None:
    """Finds out whether docker runs on this machine, as long as there is no store that says so.

    Raises:
        DockerError: it does not; the message has the daemon's own words.
    """
    if _folder(settings, _wanted(settings, official, named)).is_dir():
        return
    layers.root().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".probe-", dir=layers.root()) as folder:
        try:
            with machine_daemon.running(Path(folder) / "data", "containers"):
                pass
        except DockerError as error:
            raise DockerError(
                f"{error}\nThe sandbox runs everything in containers, with a docker daemon in each instance. It "
                "needs a machine or VM whose root may mount overlay file systems, make bridges and set iptables rules."
            ) from None


def _wanted(settings: SandboxSettings, official: Path | None, named: Iterable[str]) -> tuple[Image, ...]:
    """Returns the images to build: every one where all are asked for, or are there already."""
    built, names = _built(settings, official), tuple(named)
    everything = "" in names or _folder(settings, built).is_dir()
    return tuple(
        image for image in built if everything or not image.seldom or any(image.is_named(name) for name in names)
    )


def _built(settings: SandboxSettings, official: Path | None) -> tuple[Image, ...]:
    """Returns the images that are not pulled."""
    return tuple(
        image for image in images.catalogue(official) if not any(image.is_named(one.name) for one in settings.images)
    )


def _folder(settings: SandboxSettings, wanted: tuple[Image, ...]) -> Path:
    parts = [repr(vars(image) | {"layers": [recipe.key for recipe in image.layers]}) for image in wanted]
    return layers.root() / f"store-{cache.digest(machine_daemon.version(), repr(settings.images), *parts)}"


def _check_series(built: dict[Image, tuple[Layer, ...]]) -> None:
    for image, parts in built.items():
        version = image.version(parts)
        if image.series and not version.startswith(f"{image.series}."):
            raise DockerError(
                f"Debian's suite {layers.SUITE} has {image.repository} {version} now, and the project is run with "
                f"{image.series}. Set {mirror.VARIABLE} to a snapshot of Debian that has it "
                '(snapshot.debian.org; its lists are old, which apt takes with Acquire::Check-Valid-Until "false"). '
                "Or have the official image pulled: [images] in sandbox.toml. "
                "To run the new series, change the series in sandbox/docker and the stacks' images."
            )


def _fill(built: dict[Image, tuple[Layer, ...]], archives: dict[str, Path], folder: Path) -> None:
    packed = folder.with_name("images.tar")
    archive.write(packed, built)
    data = folder / "data"
    with machine_daemon.running(data) as api:
        for path in (packed, *archives.values()):
            machine_daemon.load(api, path)
    for name in ("containers", "tmp", "runtimes", "network", "swarm", "containerd", "buildkit", "plugins", "trust"):
        shutil.rmtree(data / name, ignore_errors=True)
    _part_from_layers(folder, data)
    _unpack_exec_root(folder, next(parts for image, parts in built.items() if image.repository == images.BUSYBOX))
    listed = {image.names(parts)[0]: image.note for image, parts in built.items()}
    listed |= dict.fromkeys(archives, "pulled")
    (folder / _LIST).write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")


def _part_from_layers(folder: Path, data: Path) -> None:
    """Moves the layers beside the rest, where every instance reads them."""
    (folder / "layers").mkdir()
    for layer in sorted((data / DRIVER).iterdir()):
        if layer.name != "l" and layer.is_dir():
            layer.rename(folder / "layers" / layer.name)


def _unpack_exec_root(folder: Path, parts: tuple[Layer, ...]) -> None:
    root = folder / "exec-root"
    root.mkdir()
    for layer in parts:
        layer.unpack(root)
