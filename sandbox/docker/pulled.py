"""Images that are pulled from a registry: each once, by its digest, and kept in the cache as `docker load` takes it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import httpx2

from sandbox.docker import layers, machine_daemon
from sandbox.docker.errors import DockerError
from sandbox.settings import PulledImage
from tools.toolchain import cache, progress

_ARCHIVE: Final = "image.tar"


def ensure(image: PulledImage) -> Path:
    """Returns the image's archive, pulled if it is not there yet. The caller holds the lock on the layers' root.

    Raises:
        DockerError: it cannot be pulled, or is not what its digest says.
    """
    folder = layers.root() / f"pulled-{cache.digest(image.name, image.reference)}"
    if not folder.is_dir():
        with progress.step(f"pulling {image.name}", 60):
            cache.publish(folder, partial(_pull, image))
    return folder / _ARCHIVE


def _pull(image: PulledImage, folder: Path) -> None:
    """Has a daemon on the machine's network pull it, which verifies every part of it."""
    repository, _, digest = image.reference.partition("@")
    name, _, tag = image.name.rpartition(":")
    with machine_daemon.running(folder.with_name("work"), "machine") as api:
        _post(api, image, "/images/create", {"fromImage": repository, "tag": digest})
        _post(api, image, f"/images/{image.reference}/tag", {"repo": name, "tag": tag})
        with api.stream("GET", f"/images/{image.name}/get") as answer, (folder / _ARCHIVE).open("wb") as file:
            answer.raise_for_status()
            for block in answer.iter_raw():
                file.write(block)


def _post(api: httpx2.Client, image: PulledImage, path: str, query: dict[str, str]) -> None:
    try:
        said = machine_daemon.refusal(api.post(path, params=query))
    except httpx2.TransportError as error:
        said = str(error) or "no answer in time"
    if said:
        registry = image.reference.partition("/")[0]
        raise DockerError(
            f'images."{image.name}" in sandbox.toml is {image.reference!r}: pulling it from {registry} failed: {said}. '
            "Fix the cause and run it again, or remove that line: images that are not named there are built here."
        )
