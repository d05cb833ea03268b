"""The processes of a sandbox by their role, which goes on over restarts."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.machine import inventory
from sandbox.machine.machine import parents
from sandbox.settings import SandboxSettings

OTHER: Final = "other processes"
_ROLES: Final = tuple(
    (re.compile(pattern), role)
    for pattern, role in (
        (r"nomad agent .*server\.json", "Nomad server"),
        (r"nomad agent ", "Nomad clients"),
        (r"nomad logmon", "Nomad logmon"),
        (r"nomad docker_logger", "Nomad docker_logger"),
        (r"nomad executor", "Nomad executor"),
        (r"^\S*dockerd ", "dockerd"),
        (r"^\S*containerd-shim", "containerd-shim"),
        (r"^\S*containerd ", "containerd"),
        (r"ebs.csi.driver controller", "EBS controllers"),
        (r"ebs.csi.driver node", "EBS node plugins"),
        (r"^\S*mysqld ", "MySQL"),
        (r"nomad-stateful-agent|nomad_stateful\.agent", "agent"),
        (r"sandbox\.cloud$", "stand-in for AWS"),
        (r"sandbox\.standins\.nas", "stand-in for a file server"),
        (r"nomad_stateful\.provider|pulumi-resource-nomad-csi", "plugin nomad-csi"),
        (r"standins\.plugins\.aws|pulumi-resource-aws", "plugin aws"),
        (r"standins\.plugins\.nomad|pulumi-resource-nomad", "plugin nomad"),
        (r"pulumi-language-python", "Pulumi program"),
        (r"^\S*pulumi ", "Pulumi"),
        (r"-m (sandbox|nomad_stateful\.operate)( |$)", "commands"),
        (r"sandbox/machine/|/boot\.sh|/let-go\.sh|/come-back\.sh", "instances"),
    )
)


@dataclass(frozen=True)
class Usage:
    """What a process has."""

    pid: int
    role: str
    memory_mib: float
    """Its proportional set: what it shares is divided among those who share it."""
    files: int
    threads: int


def role_of(words: Iterable[str]) -> str:
    """The role of a process by its command line."""
    line = " ".join(words).strip()
    return next((role for pattern, role in _ROLES if pattern.search(line)), OTHER)


def below(roots: Iterable[int], parent_of: Mapping[int, int]) -> set[int]:
    """Every process that descends from one of the roots, with these."""
    children: dict[int, list[int]] = {}
    for child, parent in parent_of.items():
        children.setdefault(parent, []).append(child)
    found, left = set[int](), list(roots)
    while left:
        pid = left.pop()
        if pid not in found:
            found.add(pid)
            left += children.get(pid, [])
    return found


def usages(settings: SandboxSettings) -> Iterator[Usage]:
    """Every process of a sandbox, and of commands that this process runs; those that end meanwhile are left out."""
    own = os.getpid()
    for pid in below([own, *_roots(settings)], parents()) - {own}:
        with contextlib.suppress(OSError):
            folder = Path(f"/proc/{pid}")
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if any(words):
                files, threads = (len(list((folder / name).iterdir())) for name in ("fd", "task"))
                yield Usage(pid, role_of(words), _memory_mib(folder), files, threads)


def _roots(settings: SandboxSettings) -> Iterator[int]:
    """The daemons and the first process of each instance."""
    for path in settings.run_dir.glob("*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            yield int(json.loads(path.read_text(encoding="ascii"))["pid"])
    yield from (one.first_process.pid for one in inventory.records(settings) if one.first_process and one.alive)


def _memory_mib(folder: Path) -> float:
    lines = (folder / "smaps_rollup").read_text(encoding="ascii", errors="replace").splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)
