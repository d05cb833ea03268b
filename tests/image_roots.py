"""Images of the sandbox as root folders, without docker."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sandbox.docker import images, layers
from tests import official_parts
from tools import packages
from tools.toolchain import cache


def unpack(repository: str, root: Path) -> None:
    """Unpacks the layers of an image, built if they are not there yet."""
    packages.ensure_packages([one for one in packages.SANDBOX if "debootstrap" in one.commands])
    image = next(image for image in images.catalogue(official_parts.folder()) if image.repository == repository)
    with cache.locked(layers.root()):
        packed = [layers.build(recipe).tar for recipe in image.layers]
    root.mkdir()
    for tar in packed:
        subprocess.run(["tar", "--extract", "--numeric-owner", "--directory", root, "--file", tar], check=True)
