"""Changes of programs on volumes."""

from __future__ import annotations

from typing import Any, Final

from tools.faults.setting_changes.model import (
    SET,
    Change,
    Draw,
    Kind,
    free_volumes,
    new_volume,
    program,
    unused_name,
    volume_setting,
)
from tools.faults.stack_settings import MissingError, Section, StackSettings

_CLIENTS: Final = ("client-1", "client-2")


def _add_consumer(settings: StackSettings, draw: Draw) -> Change | None:
    name = unused_name(draw, settings, "program")
    free = free_volumes(settings)
    volume, made = (draw.choice(free), False) if free and draw.random() < 1 / 2 else (f"{name}-data", True)

    def apply(at: StackSettings) -> None:
        if made:
            at.volumes.append(new_volume(volume, at.zone, "xfs"))
        at.volume(volume)
        at.consumers.append(program(name, volume))

    return Change(f"add {name} on {'new' if made else 'free'} {volume}", apply)


def _remove_consumer(settings: StackSettings, draw: Draw) -> Change | None:
    if not settings.consumers:
        return None
    one = draw.choice(settings.consumers)
    name, volumes = one["name"], [mount["volume"] for mount in one["mounts"]]
    too = draw.random() < 1 / 2

    def apply(at: StackSettings) -> None:
        at.consumers.remove(at.consumer(name))
        for volume in volumes if too else ():
            if volume not in at.used():
                at.volumes.remove(at.volume(volume))

    return Change(f"remove {name}{' with its volume' if too else ''}", apply)


def _rename_consumer(settings: StackSettings, draw: Draw) -> Change | None:
    known = [one["name"] for one in settings.consumers if "renamedFrom" not in one]
    if not known:
        return None
    old, new = draw.choice(known), unused_name(draw, settings, "renamed")
    return Change(f"rename {old} to {new}", lambda at: at.consumer(old).update(name=new, renamedFrom=old))


def _sets(settings: StackSettings) -> list[Section]:
    return [one for one in settings.consumers if any(mount.get("perAlloc") for mount in one["mounts"])]


def _scale(settings: StackSettings, draw: Draw) -> Change | None:
    if not (sets := _sets(settings)):
        return None
    name, old = sets[0]["name"], sets[0]["count"]
    new = draw.choice([number for number in (1, 2, 3) if number != old])

    def apply(at: StackSettings) -> None:
        at.consumer(name)["count"] = new
        at.volume(SET)["count"] = max(new, at.volume(SET)["count"])

    return Change(f"scale {name} from {old} to {new}", apply)


def _resize_set(settings: StackSettings, draw: Draw) -> Change | None:
    known = [one for one in settings.volumes if one["name"] == SET]
    if not known:
        return None
    users = [one["count"] for one in _sets(settings)]
    sizes = [number for number in (1, 2, 3) if number >= max(users, default=1) and number != known[0]["count"]]
    return volume_setting(SET, "count", draw.choice(sizes)) if sizes else None


def _alter_consumer(settings: StackSettings, draw: Draw) -> Change | None:
    if not settings.consumers:
        return None
    name = draw.choice(settings.consumers)["name"]
    settable: list[tuple[str, list[Any]]] = [
        ("env", [{"LEVEL": str(number)} for number in range(9)]),
        ("memoryMib", [33, 40, 48]),
        ("killTimeout", ["1s", "5s"]),
        ("args", [["2d"], ["3d"]]),
        ("secrets", [{"word": f"whispered {number}"} for number in range(9)]),
        ("restartAttempts", [3, 4]),
        ("stopAfterDisconnect", ["never", "30s"]),
        ("constraints", [[{"attribute": "${node.unique.name}", "value": client}] for client in _CLIENTS]),
    ]
    if any(one["name"] == name for one in _sets(settings)):
        settable.pop()
    key, values = draw.choice(settable)
    value = draw.choice(values)
    return Change(f"{name}.{key} = {value}", lambda at: at.consumer(name).update({key: value}))


def _single_mounts(settings: StackSettings) -> list[str]:
    return [one["name"] for one in settings.consumers if not any(mount.get("perAlloc") for mount in one["mounts"])]


def _other_volume(settings: StackSettings, draw: Draw) -> Change | None:
    """A program moves to another volume, or has one more, or one less."""
    if not (known := _single_mounts(settings)):
        return None
    name = draw.choice(known)
    free, mounts = free_volumes(settings), settings.consumer(name)["mounts"]
    volume = draw.choice(free) if free else unused_name(draw, settings, "volume")
    way = draw.choice(("switch", "more", "less" if len(mounts) > 1 else "switch"))

    def apply(at: StackSettings) -> None:
        one = at.consumer(name)
        if way == "less":
            if len(one["mounts"]) == 1:
                raise MissingError(f"a second mount of {name}")
            one["mounts"].pop()
            return
        if volume not in free:
            at.volumes.append(new_volume(volume, at.zone, "xfs"))
        at.volume(volume)
        if way == "switch":
            one["mounts"][0]["volume"] = volume
        else:
            one["mounts"].append({"volume": volume, "path": f"/{volume}"})

    said = {"switch": f"switch {name} to {volume}", "more": f"{name} mounts {volume} too", "less": f"{name} unmounts"}
    return Change(said[way], apply)


def _alter_mount(settings: StackSettings, draw: Draw) -> Change | None:
    if not settings.consumers:
        return None
    name = draw.choice(settings.consumers)["name"]
    key, value = draw.choice((("readOnly", True), ("readOnly", False), ("path", "/mnt"), ("path", "/data")))
    return Change(f"{name} mounts with {key} {value}", lambda at: at.consumer(name)["mounts"][0].update({key: value}))


KINDS: Final[dict[Kind, int]] = {
    _add_consumer: 2,
    _remove_consumer: 2,
    _rename_consumer: 3,
    _scale: 3,
    _resize_set: 1,
    _alter_consumer: 3,
    _other_volume: 3,
    _alter_mount: 2,
}
"""Each kind, and how often it is drawn compared with the others."""
