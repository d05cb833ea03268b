"""Paths in tasks: what the program and Nomad put there themselves is not covered by a mount."""

import posixpath
from collections.abc import Iterable

from nomad_stateful.program.settings.errors import Refusal

NOMAD_FOLDERS = ("/alloc", "/local", "/secrets")
"""Folders of each task, where the program's own files are."""
SYSTEM_FOLDERS = (
    *NOMAD_FOLDERS,
    *(f"/{name}" for name in ["bin", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "tmp", "usr", "var"]),
)
"""Folders that a server or its image needs as they are."""


def check_plain(key: str, path: str) -> None:
    """Raises Refusal for a path that has . or .. in it."""
    if {".", ".."} & set(path.split("/")):
        raise Refusal(key, path, "must not contain .. or .", "write the path out")


def is_below(path: str, folder: str) -> bool:
    """Returns whether a path is a folder, or inside of it."""
    return f"{posixpath.normpath(path)}/".startswith(f"{posixpath.normpath(folder).rstrip('/')}/")


def covers(path: str, folders: Iterable[str]) -> str:
    """Returns the first of the folders that a mount at a path would hide, or be hidden in; empty when there is none."""
    return next((folder for folder in folders if is_below(path, folder) or is_below(folder, path)), "")


def check_uncovered(key: str, path: str, folders: Iterable[str] = NOMAD_FOLDERS) -> None:
    """Raises Refusal for a mount that hides a folder, or is hidden in it."""
    if folder := covers(path, folders):
        raise Refusal(key, path, f"{folder} is reserved in the task", "use a folder of its own, such as /data")
