"""Builds the wheels into dist/ or the folder given, and requirements.txt: ``python -m tools.wheel [FOLDER]``."""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
LOCK = Path(__file__).with_name("wheel-requirements.txt")
SANDBOX = TOP / "tools/sandbox_wheel"
UV_PINS = TOP / "tools/uv-requirements.txt"


def uv() -> Path:
    """The installer that `make bootstrap` put into the cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nomad-stateful"
    return cache / f"uv-{sha256(UV_PINS.read_bytes()).hexdigest()[:16]}" / "bin/uv"


def build(target: Path, source: Path = TOP) -> None:
    """Raises CalledProcessError when the backend refuses; what it said went to stderr."""
    locked = ("--build-constraints", str(LOCK), "--require-hashes")
    subprocess.run([uv(), "build", "--quiet", "--wheel", *locked, "--out-dir", target, source], check=True)


def requirements(target: Path) -> None:
    """Writes what the wheel needs at run time as requirements.txt, with the lock's versions and their hashes."""
    to = ("--constraints", TOP / "requirements.lock", "--output-file", target / "requirements.txt")
    how = ("--quiet", "--universal", "--generate-hashes", "--no-header", "--no-annotate")
    subprocess.run([uv(), "pip", "compile", *how, *to, TOP / "pyproject.toml"], check=True)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else TOP / "dist")
    try:
        for source in (TOP, SANDBOX):
            build(folder, source)
        requirements(folder)
    except FileNotFoundError:
        sys.exit("error: the package installer is not in the cache: run `make bootstrap`")
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    print(*(str(path) for path in sorted(folder.glob("*.whl"))), sep="\n")
