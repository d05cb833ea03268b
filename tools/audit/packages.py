"""Whether .venv holds what the lock says, what the lock names is still offered, and npm's packages have hashes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.wheel import uv

_TIMEOUT_S = 300
_REMEDY = "run `make bootstrap`, or `rm -rf .venv` first"


def differences(lock: Path) -> list[str]:
    """What uv would change in the virtual environment to make it what the lock says."""
    words = ["pip", "sync", "--dry-run", "--offline", "--require-hashes", "--python", sys.executable]
    done = _uv(*words, str(lock))
    if done.returncode != 0:
        return [f".venv cannot hold what {lock.name} says: {_last(done)}: {_REMEDY}"]
    changes = re.findall(r"^ ([-+~]) (\S+)", done.stderr, re.MULTILINE)
    lacks = {"+": "lacks", "-": "holds, and the lock does not,", "~": "holds otherwise"}
    return [f".venv {lacks[sign]} {package}: {_REMEDY}" for sign, package in changes]


def yanked(lock: Path) -> tuple[list[str], str]:
    """Pinned versions that their authors withdrew, and why it was not looked up, if it was not."""
    words = ["pip", "compile", str(lock), "--no-deps", "--no-annotate", "--no-header", "--universal"]
    done = _uv(*words, "--python-version", "3.11", "--output-file", os.devnull)
    if done.returncode != 0:
        return [], f"yanked versions: not looked up: {_last(done)}"
    found = re.findall(r"^warning: `([^`]+)` is yanked(.*)$", done.stderr, re.MULTILINE)
    return [f"{lock.name}: {pin} was withdrawn by its authors{reason}" for pin, reason in found], ""


def npm(lock: Path) -> dict[str, dict[str, Any]]:
    """The packages of a package-lock.json by name; those in the project's own folders are left out."""
    packages: dict[str, dict[str, Any]] = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    return {
        where.rpartition("node_modules/")[2]: entry
        for where, entry in packages.items()
        if where.startswith("node_modules/") and not entry.get("link")
    }


def without_hash(lock: Path) -> list[str]:
    """Complaints about packages of npm that a lock file does not hold to one content."""
    return [
        f"{lock}: {name} has no hash"
        for name, entry in npm(lock).items()
        if not re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", entry.get("integrity", ""))
    ]


def _uv(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run([uv(), *words], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, "", f"{error}: `make bootstrap` puts uv into the cache")


def _last(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip().splitlines() or ["no reason given"])[-1]
