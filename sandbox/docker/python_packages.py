"""Python packages in images, for the image's own Python."""

from __future__ import annotations

import subprocess
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


# By the image's own Python, over the layer: a container would compile its modules anew at each start.
_COMPILE: Final = """
mount -t overlay over -o "lowerdir=$1:$2" "$2"
mount --bind "$1" "$2/mnt"
chroot "$2" python3 -m compileall -q -s /mnt -p / --invalidation-mode unchecked-hash "/mnt/$3"
"""


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
    compile_modules(target, layer, base)


def compile_modules(target: Path, layer: Path, base: Path) -> None:
    """Compiles the modules in a folder of a layer. Raises DockerError."""
    words = ["unshare", "--mount", "sh", "-euc", _COMPILE, "compile", str(layer), str(base)]
    done = subprocess.run([*words, str(target.relative_to(layer))], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DockerError(f"The image's Python cannot compile {target}: {(done.stdout + done.stderr).strip()[-500:]}")
