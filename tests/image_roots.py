"""Images of the sandbox as root folders, without docker."""

from __future__ import annotations

from pathlib import Path

from sandbox.docker import images, layers
from tests import official_parts
from tools import packages


def unpack(repository: str, root: Path) -> None:
    """Unpacks the layers of an image, built if they are not there yet."""
    packages.ensure_packages([one for one in packages.SANDBOX if "debootstrap" in one.commands])
    image = next(image for image in images.catalogue(official_parts.folder()) if image.repository == repository)
    root.mkdir()
    for layer in layers.provide(image.layers):
        layer.unpack(root)
