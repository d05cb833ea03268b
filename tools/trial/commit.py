"""The files of a commit in a folder of their own, with what they need to run."""

import subprocess
from pathlib import Path

from tools.trial.running import PROJECT

_LOCK = "requirements.lock"


class CommitError(Exception):
    """There is no such commit here."""


def resolve(name: str) -> str:
    """Returns the hash of a commit, by any name that git knows it by. Raises CommitError."""
    done = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if done.returncode != 0:
        raise CommitError(f"{name} is no commit here: fetch it, or name another branch, tag or commit")
    return done.stdout.decode().strip()


def export(commit: str, folder: Path) -> None:
    """Writes the files of a commit. Raises CommitError."""
    archive = _git("archive", "--format=tar", commit)
    if archive.returncode != 0:
        raise CommitError(f"commit {commit} cannot be read: {archive.stderr.decode().strip()}")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)


def provide_environment(folder: Path) -> None:
    """Gives the files a virtual environment: this clone's, unless they lock other packages."""
    if (folder / _LOCK).read_bytes() == (PROJECT / _LOCK).read_bytes():
        (folder / ".venv").symlink_to(PROJECT / ".venv")
        return
    subprocess.run(["make", "bootstrap"], cwd=folder, check=True)


def _git(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *words], cwd=PROJECT, capture_output=True, check=False)
