"""`zfs` on the file server in the words of upstream: the same commands, quoted the same, and answers read the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sandbox.standins.csi.commands import CommandError
from sandbox.standins.democratic_csi.ssh import Ssh

_SPECIAL: Final = re.compile(r'(["$`\\])')
NOT_THERE: Final = "dataset does not exist"


def quoted(value: str) -> str:
    """A value as the server's shell takes it for one word."""
    escaped = _SPECIAL.sub(r"\\\1", value)
    return f'"{escaped}"'


class Zfs:
    """The commands; each raises CommandError with what the server printed."""

    def __init__(self, ssh: Ssh, paths: Mapping[str, str], *, sudo: bool) -> None:
        self._ssh = ssh
        self._program = paths.get("zfs", "/sbin/zfs")
        self._sudo = [paths.get("sudo", "/usr/bin/sudo")] if sudo else []

    def create(self, name: str, properties: Mapping[str, str]) -> None:
        """Makes a dataset and its parents; one that is there is fine."""
        self._run(["create", "-p", *_options(properties), name], fine="dataset already exists")

    def clone(self, snapshot: str, name: str, properties: Mapping[str, str]) -> None:
        """Makes a dataset of a snapshot; one that is there is fine."""
        self._run(["clone", *_options(properties), snapshot, name], fine="dataset already exists")

    def snapshot(self, name: str, properties: Mapping[str, str]) -> None:
        """Takes a snapshot; one that is there is fine."""
        self._run(["snapshot", *_options(properties), name], fine="dataset already exists")

    def destroy(self, name: str, *, deferred: bool = False) -> None:
        """Removes what is there; a snapshot with clones goes with the last of them when `deferred`."""
        flags = ["-r", "-f", "-p", *(["-d"] if deferred else [])]
        self._run(["destroy", *flags, name], fine=f"{NOT_THERE}|could not find any snapshots to destroy")

    def set(self, name: str, properties: Mapping[str, str]) -> None:
        """Sets properties."""
        if properties:
            self._run(["set", *(f"{key}={quoted(value)}" for key, value in properties.items()), name])

    def inherit(self, name: str, key: str) -> None:
        """Takes a property's own value away."""
        self._run(["inherit", key, name])

    def get(self, name: str, keys: Sequence[str]) -> dict[str, str]:
        """Values of properties by their full names."""
        fields = "name,property,value,received,source"
        output = self._run(["get", "-Hp", "-o", fields, ",".join(keys), name])
        lines = (line.split("\t") for line in output.strip().splitlines())
        return {line[1]: line[2] for line in lines}

    def list(self, top: str, kind: str, columns: Sequence[str]) -> list[dict[str, str]]:
        """A row for each dataset of a kind at and below another."""
        output = self._run(["list", "-r", "-Hp", "-t", kind, "-o", ",".join(columns), top])
        return [dict(zip(columns, line.split("\t"), strict=True)) for line in output.strip().splitlines() if line]

    def _run(self, words: Iterable[str], fine: str = "") -> str:
        done = self._ssh.run(" ".join([*self._sudo, self._program, *words]))
        if done.code != 0 and not (fine and re.search(fine, done.output)):
            raise CommandError(done.output.strip() or f"zfs ended with {done.code}")
        return done.output if done.code == 0 else ""


def _options(properties: Mapping[str, str]) -> list[str]:
    return [part for key, value in properties.items() for part in ("-o", f"{key}={quoted(value)}")]
