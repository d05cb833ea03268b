"""Makes the agent's image: ``python -m tools.image [--base IMAGE@DIGEST]``.

Without a base it is Debian's Python, written to dist/ as `docker load` takes it, which needs root and debootstrap and
no docker; with one, `docker build` makes it. Only the base differs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from sandbox.docker import agent, archive, images, layers
from sandbox.docker.errors import DockerError
from tools import locked_packages, packages, wheel

DIST: Final = wheel.TOP / "dist"
_DOCKERFILE: Final = Path(__file__).with_name("Dockerfile")


def name() -> str:
    """The image's name, before it is tagged for a registry."""
    return f"{agent.REPOSITORY}:{agent.tag()}"


def on_debian(folder: Path) -> Path:
    """Writes the image on Debian's packages, verified by its keys; its file. Raises DockerError and PackageError."""
    target = folder / f"{agent.REPOSITORY}-{agent.tag()}.tar"
    packages.ensure_packages([one for one in packages.SANDBOX if {"debootstrap", "gpgv"}.intersection(one.commands)])
    image = images.agent_image(images.base_layer())
    built = layers.provide(image.layers)
    target.parent.mkdir(exist_ok=True)
    archive.write(target, {image: built})
    return target


def on_base(base: str) -> None:
    """Has docker build the image on a base of a registry. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        wheel.build(Path(folder))
        (Path(folder) / "requirements.txt").write_text(locked_packages.pins(agent.PACKAGES), encoding="utf-8")
        words = ["docker", "build", "--file", str(_DOCKERFILE), "--build-arg", f"BASE={base}", "--tag", name(), folder]
        subprocess.run(words, check=True)


def main() -> int:
    """Says where the image is."""
    parser = argparse.ArgumentParser(prog="make image", description=__doc__)
    parser.add_argument("--base", default="", help="an image with Python and pip, by its digest")
    base = parser.parse_args().base
    if base and not re.search(r"@sha256:[0-9a-f]{64}$", base):
        rule = "name it by its digest, IMAGE@sha256:…, so that it is the same each time"
        print(f"error: BASE is {base}: {rule}", file=sys.stderr)
        return 2
    try:
        if base:
            on_base(base)
            print(f"{name()} is in docker, on {base}")
        else:
            target = on_debian(DIST)
            print(f"{target} has {name()}: docker load --input {target}")
    except (DockerError, packages.PackageError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        print(f"error: the image cannot be built: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
