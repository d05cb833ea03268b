"""What a change of a stack's settings is, and what the kinds of changes share."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tools.faults.stack_settings import Section, StackSettings

ELSEWHERE: Final = "elsewhere"
"""A namespace beside the default one, which a lane has to have."""
SPARE: Final = "spare"
"""A volume for the database to go to."""
SET: Final = "set"
"""The set of volumes."""
SECOND: Final = "second"
"""A plugin beside the first one."""


@dataclass(frozen=True)
class Change:
    """One change of the settings."""

    text: str
    apply: Callable[[StackSettings], None]
    """Makes it. Raises MissingError where what it changes is not there, as when an earlier change is left out."""


Draw = random.Random
Kind = Callable[[StackSettings, Draw], Change | None]
"""Draws a change of one kind that fits the settings; None where they have nothing to make it on."""


def new_volume(name: str, zone: str, fs_type: str) -> Section:
    """A volume as small as can be."""
    return {"name": name, "zone": zone, "sizeGib": 1, "fsType": fs_type, "protect": False}


def program(name: str, volume: str, *, count: int = 1, per_alloc: bool = False) -> Section:
    """A program on a volume."""
    mount: Section = {"volume": volume, "path": "/data", **({"perAlloc": True} if per_alloc else {})}
    task = {"taskDriver": "docker", "image": "busybox:1", "command": "/bin/sleep", "args": ["1d"]}
    # As the first process of a container it does not end when asked.
    ends = {"killSignal": "SIGKILL", "killTimeout": "3s"}
    return {"name": name, "count": count, "mounts": [mount], **task, **ends, "cpuMhz": 50, "memoryMib": 32}


def free_volumes(settings: StackSettings) -> list[str]:
    """Volumes that a job can have: nobody has or had them, and they are not for the database to go to."""
    kept = settings.used() | settings.held | set(for_database(settings))
    return [one["name"] for one in settings.volumes if one["name"] not in kept and one.get("zone") == settings.zone]


def for_database(settings: StackSettings) -> list[str]:
    """Names of the volumes that the database moves between."""
    names = [settings.names.get(first, first) for first in (settings.server.volume, "archive", SPARE)]
    return [one["name"] for one in settings.volumes if one["name"] in names]


def unused_name(draw: Draw, settings: StackSettings, stem: str) -> str:
    """A name that no program and no volume has."""
    taken = {one["name"] for one in (*settings.consumers, *settings.volumes)}
    return next(name for name in (f"{stem}-{draw.randrange(1000)}" for _ in range(99)) if name not in taken)


def volume_setting(name: str, key: str, value: Any) -> Change:
    """Another value of one setting of a volume."""
    return Change(f"volume {name}.{key} = {value}", lambda at: at.volume(name).update({key: value}))
