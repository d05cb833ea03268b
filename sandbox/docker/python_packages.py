"""Python packages in images, for the image's own Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sandbox.docker.errors import DockerError
from tools import locked_packages
from tools.locked_packages import LockedPackagesError

STAND_INS: Final = (
    *("grpcio", "protobuf", "PyYAML", "typing_extensions"),
    *("asyncssh", "cryptography", "cffi", "pycparser"),
    *("boto3", "botocore", "s3transfer", "jmespath", "python-dateutil", "six", "urllib3"),
)


def folder(layer: Path, base: Path) -> Path:
    """Returns where the image's Python looks for packages that are not Debian's. Raises DockerError."""
    found = sorted((base / "usr/lib").glob("python3.*")) + sorted((layer / "usr/lib").glob("python3.*"))
    if not found:
        raise DockerError("The image has no Python in it.")
    return layer / "usr/local/lib" / found[-1].name / "dist-packages"


def install(packages: Sequence[str], layer: Path, base: Path) -> None:
    """Installs packages, each file of them as requirements.lock has it. Raises DockerError."""
    target = folder(layer, base)
    version = target.parent.name.removeprefix("python")
    try:
        locked_packages.install(packages, target, python=version)
    except LockedPackagesError as error:
        raise DockerError(f"The image's Python {version} cannot have its packages: {error}") from None
