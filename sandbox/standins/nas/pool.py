"""The datasets of a file server: folders with properties, snapshots and clones, and what depends on what.

Snapshots and clones are copies, quotas are recorded and not enforced; dependencies are those of ZFS.
"""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sandbox.standins.nas.properties import FILESYSTEM, NATIVE, SNAPSHOT, ZfsError, checked, is_user, kind_of
from sandbox.standins.nas.values import Entry, State

if TYPE_CHECKING:
    from sandbox.standins.nas.layout import Nas

_BAD: Final = re.compile(r"[^A-Za-z0-9_.:\- /@]")


class Pool:
    """The datasets of a file server."""

    def __init__(self, nas: Nas) -> None:
        self._nas = nas

    def create(self, name: str, properties: Mapping[str, str], *, parents: bool = False) -> None:
        """Makes a file system; with `parents` one that is there is fine. Raises ZfsError."""
        with self._changed() as state:
            if name in state and parents:
                return
            self._new(state, name, properties, parents=parents)
            folder = self._nas.root / name
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o755)

    def clone(self, origin: str, name: str, properties: Mapping[str, str]) -> None:
        """Makes a file system from a snapshot, which cannot be destroyed before it; raises ZfsError."""
        with self._changed() as state:
            _known(state, origin)
            entry = self._new(state, name, properties, parents=False)
            entry["origin"] = origin
            _copy(self._nas.snapshots / origin, self._nas.root / name)

    def snapshot(self, name: str, properties: Mapping[str, str]) -> None:
        """Copies a file system; raises ZfsError."""
        dataset = name.partition("@")[0]
        with self._changed() as state:
            _known(state, dataset)
            if name in state:
                raise ZfsError(f"cannot create snapshot '{name}': dataset already exists")
            state[name] = _entry({key: checked(name, key, value, SNAPSHOT) for key, value in properties.items()})
            _copy(self._nas.root / dataset, self._nas.snapshots / name)

    def set(self, name: str, properties: Mapping[str, str]) -> None:
        """Sets properties, all or none; raises ZfsError."""
        with self._changed() as state:
            entry = _known(state, name)
            entry["properties"] |= {key: checked(name, key, value, kind_of(name)) for key, value in properties.items()}

    def inherit(self, name: str, key: str) -> None:
        """Takes a property's own value away; raises ZfsError."""
        known = NATIVE.get(key)
        with self._changed() as state:
            entry = _known(state, name)
            if not is_user(key) and known is None:
                raise ZfsError(f"cannot inherit {key} for '{name}': invalid property")
            if known is not None and not known.inherited:
                raise ZfsError(f"'{key}' property cannot be inherited")
            entry["properties"].pop(key, None)

    def destroy(self, name: str, *, recursive: bool, deferred: bool = False) -> None:
        """Removes a file system or a snapshot; raises ZfsError."""
        with self._changed() as state:
            if "@" in name:
                self._destroy_snapshot(state, name, deferred=deferred)
                return
            _known(state, name)
            inner = [one for one in state if one.startswith((f"{name}/", f"{name}@"))]
            if inner and not recursive:
                raise ZfsError(
                    f"cannot destroy '{name}': filesystem has children\n"
                    f"use '-r' to destroy the following datasets:\n{chr(10).join(inner)}"
                )
            going = {name, *inner}
            clones = [one for one in state if state[one].get("origin") in going and one not in going]
            if clones:
                raise ZfsError(
                    f"cannot destroy '{name}': filesystem has dependent clones\n"
                    f"use '-R' to destroy the following datasets:\n{chr(10).join(clones)}"
                )
            for one in [*sorted(inner, reverse=True), name]:
                self._remove(state, one)

    def _destroy_snapshot(self, state: State, name: str, *, deferred: bool) -> None:
        if name not in state:
            raise ZfsError("could not find any snapshots to destroy; check snapshot names.")
        clones = self._clones(state, name)
        if clones and deferred:
            state[name]["deferred"] = True
        elif clones:
            raise ZfsError(
                f"cannot destroy '{name}': snapshot has dependent clones\n"
                f"use '-R' to destroy the following datasets:\n{chr(10).join(clones)}"
            )
        else:
            self._remove(state, name)

    def _clones(self, state: State, snapshot: str) -> list[str]:
        return [one for one, entry in state.items() if entry.get("origin") == snapshot]

    def _remove(self, state: State, name: str) -> None:
        shutil.rmtree((self._nas.snapshots if "@" in name else self._nas.root) / name, ignore_errors=True)
        entry = state.pop(name, None)
        origin = (entry or {}).get("origin", "")
        # A snapshot that was to go with its last clone goes now.
        if origin in state and state[origin].get("deferred") and not self._clones(state, origin):
            self._remove(state, origin)

    def _new(self, state: State, name: str, properties: Mapping[str, str], *, parents: bool) -> Entry:
        _check_name(name)
        pool, _, _ = name.partition("/")
        if pool not in state and name != pool:
            raise ZfsError(f"cannot create '{name}': no such pool '{pool}'")
        if name in state:
            raise ZfsError(f"cannot create '{name}': dataset already exists")
        missing = []
        parent = name.rpartition("/")[0]
        while parent and parent not in state:
            missing.append(parent)
            parent = parent.rpartition("/")[0]
        if missing and not parents:
            raise ZfsError(f"cannot create '{name}': parent does not exist")
        for one in reversed(missing):
            state[one] = _entry({})
            (self._nas.root / one).mkdir(parents=True, exist_ok=True)
        state[name] = _entry({key: checked(name, key, value, FILESYSTEM) for key, value in properties.items()})
        return state[name]

    def names(self, top: str, *, below: bool) -> list[str]:
        """A dataset, and those below it where asked; raises ZfsError."""
        state = self.read()
        _known(state, top)
        found = [one for one in state if one == top or (below and one.startswith((f"{top}/", f"{top}@")))]
        return sorted(found, key=lambda one: (one.partition("@")[0].split("/"), "@" in one))

    def dataset_of(self, path: str) -> str:
        """The innermost dataset that holds a path below the root, empty where there is none."""
        state, name = self.read(), path.strip("/")
        while name and name not in state:
            name = name.rpartition("/")[0]
        return name

    def read(self) -> State:
        """All datasets in the order in which they were made."""
        try:
            found: State = json.loads(self._nas.datasets_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return found

    @contextmanager
    def _changed(self) -> Iterator[State]:
        file = self._nas.datasets_file
        with file.with_suffix(".lock").open("w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self.read()
            yield state
            new = file.with_suffix(".new")
            new.write_text(json.dumps(state, indent=1), encoding="utf-8")
            new.replace(file)


def _known(state: State, name: str) -> Entry:
    if name not in state:
        raise ZfsError(f"cannot open '{name}': dataset does not exist")
    return state[name]


def _entry(properties: Mapping[str, str]) -> Entry:
    return {"creation": int(time.time()), "properties": dict(properties)}


def _check_name(name: str) -> None:
    if found := _BAD.search(name):
        raise ZfsError(f"cannot create '{name}': invalid character '{found.group()}' in name")
    for part in name.split("/"):
        if part in {"", ".", ".."}:
            raise ZfsError(f"cannot create '{name}': empty component or self reference in name")


def _copy(origin: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["cp", "-a", "--reflink=auto", "-T", str(origin), str(target)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        shutil.rmtree(target, ignore_errors=True)
        raise ZfsError(f"cannot copy: {done.stderr.strip()}")
