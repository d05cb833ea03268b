"""What only a package index or Go's module cache can tell: withdrawn versions, and modules that were tampered with."""

import os
import re
import shutil
import subprocess
from pathlib import Path

_TIMEOUT_S = 300


def yanked(lock: Path, uv: Path | None) -> tuple[list[str], str]:
    """Pinned versions that their authors withdrew, and why it was not looked up, if it was not."""
    if uv is None:
        return [], "yanked versions: not looked up: uv is not in the cache (`make bootstrap` puts it there)"
    words = ["pip", "compile", str(lock), "--no-deps", "--no-annotate", "--no-header", "--universal"]
    done = _run([str(uv), *words, "--python-version", "3.11", "--output-file", os.devnull], lock.parent)
    if done is None or done.returncode != 0:
        return [], f"yanked versions: not looked up: {_last(done)}"
    found = re.findall(r"^warning: `([^`]+)` is yanked(.*)$", done.stderr, re.MULTILINE)
    return [f"{lock.name}: {pin} was withdrawn by its authors{reason}" for pin, reason in found], ""


def tampered(folder: Path) -> tuple[list[str], str]:
    """Modules in Go's cache that are not what go.sum says, and why that was not checked, if it was not."""
    if shutil.which("go") is None:
        return [], f"{folder.name}: Go modules not verified: go is not on PATH"
    done = _run(["go", "mod", "verify"], folder)
    if done is None:
        return [], f"{folder.name}: Go modules not verified: {_last(done)}"
    said = done.stdout + done.stderr
    changed = re.findall(r"^(\S+ v\S+): (?:zip|dir) has been modified.*$", said, re.MULTILINE)
    if "SECURITY ERROR" in said or changed:
        return [f"{folder / 'go.sum'}: {', '.join(changed) or said.strip()}: not what go.sum says"], ""
    return [], "" if done.returncode == 0 else f"{folder.name}: Go modules not verified: {_last(done)}"


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return None


def _last(done: subprocess.CompletedProcess[str] | None) -> str:
    said = "no answer in time" if done is None else (done.stderr or done.stdout).strip()
    return said.splitlines()[-1] if said else "no reason given"
