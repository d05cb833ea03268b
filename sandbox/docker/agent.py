"""The image of nomad-stateful-agent: the project's wheel on a Python, and the few packages that the agent imports."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from nomad_stateful.version import VERSION
from sandbox.docker import python_packages
from sandbox.docker.errors import DockerError
from sandbox.settings import PROJECT
from tools import wheel
from tools.toolchain import cache

REPOSITORY: Final = "nomad-stateful-agent"
COMMAND: Final = "nomad-stateful-agent"
PACKAGES: Final = (
    *("boto3", "botocore", "s3transfer", "jmespath", "python-dateutil", "six", "urllib3", "pymysql"),
    # The watch calls Nomad.
    *("httpx2", "httpcore2", "h11", "anyio", "idna", "truststore", "typing_extensions"),
)
_ENTRY: Final = """\
#!/usr/bin/python3
from nomad_stateful.agent.__main__ import run
run()
"""


def tag() -> str:
    """Returns a tag that another build does not have: a client that has a tag does not ask for it again."""
    return f"{VERSION}-{digest()[:12]}"


def digest() -> str:
    """Names what the wheel has in it."""
    # Those that are in the package by a link are not found through it.
    folders = ("nomad_stateful", "components", "jobs")
    files = sorted(path for folder in folders for path in (PROJECT / folder).rglob("*") if _is_source(path))
    names = [str(path.relative_to(PROJECT)) for path in files]
    return cache.digest(*names, *(path.read_bytes() for path in files), (PROJECT / "pyproject.toml").read_bytes())


def _is_source(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts


def put(layer: Path, base: Path) -> None:
    """Installs the wheel for the image's own Python, and its command. Raises DockerError."""
    target = python_packages.folder(layer, base)
    with tempfile.TemporaryDirectory() as folder:
        try:
            wheel.build(Path(folder))
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            raise DockerError(f"The wheel of the agent cannot be built: {error}") from None
        [built] = Path(folder).glob("*.whl")
        words = ["pip", "install", "--quiet", "--no-deps", "--no-compile", "--target", str(target), str(built)]
        done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DockerError(f"The wheel of the agent cannot be installed: {done.stderr.strip()[-500:]}")
    python_packages.compile_modules(target, layer, base)
    command = layer / "usr/local/bin" / COMMAND
    command.parent.mkdir(parents=True)
    command.write_text(_ENTRY, encoding="ascii")
    command.chmod(0o755)
