"""The image of nomad-stateful-agent: the package on a Python, and the few packages that the agent imports."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import nomad_stateful
from nomad_stateful.version import VERSION
from sandbox.docker import python_packages
from tools.toolchain import cache

REPOSITORY: Final = "nomad-stateful-agent"
COMMAND: Final = "nomad-stateful-agent"
PACKAGES: Final = (
    *("boto3", "botocore", "s3transfer", "jmespath", "python-dateutil", "six", "urllib3", "pymysql"),
    # The watch calls Nomad.
    *("httpx2", "httpcore2", "h11", "anyio", "idna", "truststore", "typing_extensions"),
)
_PACKAGE: Final = Path(nomad_stateful.__file__).parent
_ENTRY: Final = """\
#!/usr/bin/python3
from nomad_stateful.agent.__main__ import run
run()
"""


def tag() -> str:
    """Returns a tag that another build does not have: a client that has a tag does not ask for it again."""
    return f"{VERSION}-{digest()[:12]}"


def digest() -> str:
    """Names what the package has in it, the same in a clone and where a wheel was installed."""
    files = sorted(_files())
    names = [str(path.relative_to(_PACKAGE)) for path in files]
    return cache.digest(*names, *(path.read_bytes() for path in files))


def _files() -> Iterator[Path]:
    # In a clone components and jobs are in the package by a link.
    for folder, _, names in os.walk(_PACKAGE, followlinks=True):
        if Path(folder).name != "__pycache__":
            yield from (Path(folder, name) for name in names)


def put(layer: Path, base: Path) -> None:
    """Puts in the package for the image's own Python, and its command. Raises DockerError."""
    target = python_packages.folder(layer, base)
    shutil.copytree(_PACKAGE, target / _PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    python_packages.compile_modules(target, layer, base)
    command = layer / "usr/local/bin" / COMMAND
    command.parent.mkdir(parents=True)
    command.write_text(_ENTRY, encoding="ascii")
    command.chmod(0o755)
