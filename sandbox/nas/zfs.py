"""`zfs` on folders: datasets, properties that are inherited, snapshots and clones (as copies, which depend on nothing).

Quotas are recorded, not enforced.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sandbox.nas.layout import Nas

_INHERITED: Final = frozenset({"sharenfs"})
_DEFAULTS: Final = {"sharenfs": "off", "refquota": "0", "refreservation": "0", "quota": "0"}


class ZfsError(Exception):
    """What the command prints."""


class Pool:
    """The datasets of a file server."""

    def __init__(self, nas: Nas) -> None:
        self._nas = nas

    def create(self, name: str, properties: Mapping[str, str], *, parents: bool = False, origin: str = "") -> None:
        """Makes a dataset, filled from a snapshot where one is given; raises ZfsError."""
        with self._changed() as state:
            if name in state:
                raise ZfsError(f"cannot create '{name}': dataset already exists")
            parent = name.rpartition("/")[0]
            if parent and parent not in state and not parents:
                raise ZfsError(f"cannot create '{name}': parent does not exist")
            while parent and parent not in state:
                state[parent] = {"creation": str(int(time.time()))}
                parent = parent.rpartition("/")[0]
            folder = self._nas.root / name
            if origin:
                if origin not in state:
                    raise ZfsError(f"cannot open '{origin}': dataset does not exist")
                _copy(self._nas.snapshots / origin, folder)
            else:
                folder.mkdir(parents=True)
                folder.chmod(0o755)
            state[name] = {"creation": str(int(time.time())), **properties}

    def snapshot(self, name: str, properties: Mapping[str, str]) -> None:
        """Copies a dataset; raises ZfsError."""
        dataset = name.partition("@")[0]
        with self._changed() as state:
            if dataset not in state:
                raise ZfsError(f"cannot open '{dataset}': dataset does not exist")
            if name in state:
                raise ZfsError(f"cannot create snapshot '{name}': dataset already exists")
            _copy(self._nas.root / dataset, self._nas.snapshots / name)
            state[name] = {"creation": str(int(time.time())), **properties}

    def set(self, name: str, properties: Mapping[str, str]) -> None:
        """Sets properties; raises ZfsError."""
        with self._changed() as state:
            if name not in state:
                raise ZfsError(f"cannot open '{name}': dataset does not exist")
            state[name].update(properties)

    def destroy(self, name: str, *, recursive: bool) -> None:
        """Removes a dataset or snapshot; raises ZfsError."""
        with self._changed() as state:
            if name not in state:
                raise (
                    ZfsError(f"could not find any snapshots to destroy; no snapshots destroyed: '{name}'")
                    if ("@" in name)
                    else ZfsError(f"cannot open '{name}': dataset does not exist")
                )
            inner = [one for one in state if one.startswith((f"{name}/", f"{name}@"))]
            if inner and not recursive:
                raise ZfsError(f"cannot destroy '{name}': filesystem has children\n{inner[0]}")
            for one in [*sorted(inner, reverse=True), name]:
                shutil.rmtree((self._nas.snapshots if "@" in one else self._nas.root) / one, ignore_errors=True)
                del state[one]

    def list(self, top: str, kind: str, properties: Sequence[str]) -> list[list[str]]:
        """A line per filesystem or snapshot under `top`; raises ZfsError."""
        state = self._read()
        if top not in state:
            raise ZfsError(f"cannot open '{top}': dataset does not exist")
        names = [one for one in state if one == top or one.startswith((f"{top}/", f"{top}@"))]
        kept = [one for one in names if ("@" in one) == (kind == "snapshot")]
        return [[self._value(state, one, name) for name in properties] for one in kept]

    def value(self, name: str, key: str) -> str:
        """A property of a dataset that exists, inherited where it can be."""
        return self._value(self._read(), name, key)

    def dataset_of(self, path: str) -> str:
        """The innermost dataset that holds a path, empty where there is none."""
        state, name = self._read(), path.strip("/")
        while name and name not in state:
            name = name.rpartition("/")[0]
        return name

    def _value(self, state: Mapping[str, Any], name: str, key: str) -> str:
        if key == "name":
            return name
        if key in {"available", "avail"}:
            found = os.statvfs(self._nas.root)
            return str(found.f_bavail * found.f_frsize)
        if key == "mountpoint":
            return f"/{name}"
        at = name
        while at and key in _INHERITED and key not in state.get(at, {}):
            at = at.rpartition("/")[0]
        return str(state.get(at, {}).get(key, _DEFAULTS.get(key, "-")))

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            found: dict[str, dict[str, str]] = json.loads(self._nas.datasets_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return found

    @contextmanager
    def _changed(self) -> Iterator[dict[str, dict[str, str]]]:
        file = self._nas.datasets_file
        with file.with_suffix(".lock").open("w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self._read()
            yield state
            new = file.with_suffix(".new")
            new.write_text(json.dumps(state, indent=1), encoding="utf-8")
            new.replace(file)


def _copy(origin: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["cp", "-a", "--reflink=auto", str(origin), str(target)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ZfsError(f"cannot copy: {done.stderr.strip()}")


def run(pool: Pool, words: Sequence[str]) -> str:
    """Does what a `zfs` command line says and gives what it prints; raises ZfsError."""
    command, rest = (words[0], list(words[1:])) if words else ("", [])
    flags, options, plain = _split(rest)
    if command == "create":
        pool.create(plain[0], options, parents="p" in flags)
    elif command == "clone":
        pool.create(plain[1], options, parents="p" in flags, origin=plain[0])
    elif command == "snapshot":
        pool.snapshot(plain[0], options)
    elif command == "set":
        pool.set(plain[-1], dict(_pair(word) for word in plain[:-1]))
    elif command == "destroy":
        pool.destroy(plain[0], recursive="r" in flags)
    elif command == "list":
        kind, columns = flags.get("t", "filesystem"), flags.get("o", "name").split(",")
        return "".join("\t".join(line) + "\n" for line in pool.list(plain[0], kind, columns))
    else:
        raise ZfsError(f"unrecognized command '{command}'")
    return ""


def _split(words: list[str]) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Flags (-t and -o NAMES with their values), `-o KEY=VALUE` properties, and the rest."""
    flags: dict[str, str] = {}
    options: dict[str, str] = {}
    plain: list[str] = []
    while words:
        word = words.pop(0)
        if word == "-o" and words and "=" in words[0]:
            key, value = _pair(words.pop(0))
            options[key] = value
        elif word in {"-o", "-t", "-d"} and words:
            flags[word[1]] = words.pop(0)
        elif word.startswith("-"):
            flags.update(dict.fromkeys(word[1:], ""))
        else:
            plain.append(word)
    return flags, options, plain


def _pair(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals:
        raise ZfsError(f"missing '=' for property=value argument: {word!r}")
    return key, value
