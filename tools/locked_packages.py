"""Python packages as requirements.lock has them: each file of them by its hash."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_LOCK: Final = Path(__file__).resolve().parents[1] / "requirements.lock"


class LockedPackagesError(Exception):
    """Packages cannot be installed; the message says why."""


def pins(packages: Sequence[str]) -> str:
    """Returns the lines of requirements.lock for packages, with the hashes of their files.

    Raises:
        LockedPackagesError: one of them is not in it.
    """
    wanted = {re.sub("[-_.]+", "-", name).lower() for name in packages}
    # A package has a line, and one below it for each of its files.
    blocks = re.split(r"\n(?=[^\s#])", _LOCK.read_text(encoding="utf-8"))
    found = {block.partition("==")[0]: block for block in blocks if block.partition("==")[0] in wanted}
    if missing := sorted(wanted - set(found)):
        raise LockedPackagesError(f"requirements.lock does not pin {', '.join(missing)}: run `make lock`")
    return "\n".join(found[name] for name in sorted(found)) + "\n"


def install(packages: Sequence[str], target: Path, *, python: str = "") -> None:
    """Installs packages into a folder, for this Python or one of another version, such as 3.13.

    Raises:
        LockedPackagesError: they cannot be had, or are not what the lock says.
    """
    words = ["pip", "install", "--quiet", "--no-deps", "--no-compile", "--only-binary=:all:", "--require-hashes"]
    words += ["--python-version", python] if python else []
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        file.write(pins(packages))
        file.flush()
        words += ["--requirement", file.name, "--target", str(target)]
        done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LockedPackagesError(done.stderr.strip()[-500:])
