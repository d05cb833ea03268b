"""Python packages in images: each file of them is pinned by its hash."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from sandbox.docker.errors import DockerError
from sandbox.settings import PROJECT

STAND_INS: Final = (
    *("grpcio", "protobuf", "PyYAML", "typing_extensions"),
    *("asyncssh", "cryptography", "cffi", "pycparser"),
    *("boto3", "botocore", "s3transfer", "jmespath", "python-dateutil", "six", "urllib3"),
)
_LOCK: Final = PROJECT / "requirements.lock"
AWS_CLI_PINS: Final = PROJECT / "tools/aws-cli-requirements.txt"


def pins() -> str:
    """The lines of requirements.lock for the packages that the stand-ins import, with the hashes of their files."""
    wanted = {re.sub("[-_.]+", "-", name).lower() for name in STAND_INS}
    # A package has a line, and one below it for each of its files.
    blocks = re.split(r"\n(?=[^\s#])", _LOCK.read_text(encoding="utf-8"))
    found = {block.partition("==")[0]: block for block in blocks if block.partition("==")[0] in wanted}
    if missing := sorted(wanted - set(found)):
        raise DockerError(f"requirements.lock does not pin {', '.join(missing)}: run `make lock`.")
    return "\n".join(found[name] for name in sorted(found)) + "\n"


def for_stand_ins(layer: Path, base: Path) -> None:
    """Installs the packages that the stand-ins import, for the image's own Python."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        file.write(pins())
        file.flush()
        _install(layer, base, Path(file.name))


def for_aws_cli(layer: Path, base: Path) -> None:
    """Installs the AWS CLI and its command."""
    _install(layer, base, AWS_CLI_PINS)
    command = layer / "usr/local/bin/aws"
    command.parent.mkdir(parents=True, exist_ok=True)
    command.write_text('#!/bin/sh\nexec python3 -W ignore -m awscli "$@"\n', encoding="ascii")
    command.chmod(0o755)


def _install(layer: Path, base: Path, pinned: Path) -> None:
    """Installs packages, each file of which is pinned by its hash, for the image's own Python. Raises DockerError."""
    found = sorted((base / "usr/lib").glob("python3.*")) + sorted((layer / "usr/lib").glob("python3.*"))
    if not found:
        raise DockerError("The image has no Python in it.")
    version = found[-1].name.removeprefix("python")
    target = layer / "usr/local/lib" / found[-1].name / "dist-packages"
    words = ["pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", version]
    words += ["--require-hashes", "--requirement", str(pinned)]
    done = subprocess.run(
        [sys.executable, "-m", *words, "--target", str(target)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise DockerError(f"The image's Python {version} cannot have its packages: {done.stderr.strip()[-500:]}")
