"""Changes of a stack's settings, drawn at random: each fits the settings it is drawn for, and says what it is."""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.faults.stack_settings import MissingError, Section, StackSettings

ELSEWHERE: Final = "elsewhere"
"""A namespace beside the default one, which a lane has to have."""
_SPARE, _SET = "spare", "set"
_CLIENTS: Final = ("client-1", "client-2")


@dataclass(frozen=True)
class Change:
    """One change of the settings."""

    text: str
    apply: Callable[[StackSettings], None]
    """Makes it. Raises MissingError where what it changes is not there, as when an earlier change is left out."""


Draw = random.Random
Kind = Callable[[StackSettings, Draw], Change | None]
"""Draws a change of one kind; None where the settings have nothing to make it on."""


def sequence(settings: StackSettings, draw: Draw, length: int) -> list[Change]:
    """So many changes, one after the other: the first adds volumes and programs for the others to work on."""
    at, drawn = settings.copy(), [_furnished(draw)]
    drawn[0].apply(at)
    while len(drawn) < length:
        _forget_renames(at)
        at.held = frozenset(at.used())
        changes = _several(at, draw) if draw.random() < 1 / 4 else [_one(at, draw)]
        for change in changes:
            change.apply(at)
        drawn.append(_joined(changes))
    return drawn


def made(
    settings: StackSettings, changes: Sequence[Change], without: frozenset[int] = frozenset()
) -> Iterator[tuple[int, Change, StackSettings]]:
    """Gives number, change and settings of each change that can be made, but for those that are left out."""
    at = settings
    for number, change in enumerate(changes, start=1):
        then = at.copy()
        _forget_renames(then)
        with contextlib.suppress(MissingError):
            if number not in without:
                change.apply(then)
                at = then
                yield number, change, at


def _forget_renames(settings: StackSettings) -> None:
    """Takes out what counts for one update alone."""
    for one in settings.consumers:
        one.pop("renamedFrom", None)


def _one(settings: StackSettings, draw: Draw) -> Change:
    while True:
        if change := draw.choices(list(KINDS), list(KINDS.values()))[0](settings, draw):
            return change


def _several(settings: StackSettings, draw: Draw) -> list[Change]:
    """Two or three changes for one update: each fits the settings with those before it."""
    at, changes = settings.copy(), []
    for _ in range(draw.choice((2, 2, 3))):
        changes.append(_one(at, draw))
        changes[-1].apply(at)
    return changes


def _joined(changes: Sequence[Change]) -> Change:
    def apply(settings: StackSettings) -> None:
        for change in changes:
            change.apply(settings)

    return Change(" and ".join(change.text for change in changes), apply)


def _furnished(draw: Draw) -> Change:
    """Volumes and programs on them, of which some are left out."""
    names = draw.sample(("indexer", "keeper", "logs"), draw.choice((1, 2, 2, 3)))
    members, spare = draw.choice((2, 3)), draw.random() < 2 / 3
    count = draw.randint(1, members)
    growth = draw.choice(("xfs", "xfs", "ext4"))

    def apply(settings: StackSettings) -> None:
        zone = settings.volume("mysql")["zone"]
        if spare:
            settings.volumes.append(_new_volume(_SPARE, zone, "xfs"))
        for name in names:
            if name == "logs":
                settings.volumes.append(_new_volume(_SET, zone, "xfs") | {"count": members})
                settings.volumes[-1]["zones"] = [settings.volumes[-1].pop("zone")]
                settings.consumers.append(_program(settings, name, _SET, count=count, per_alloc=True))
            else:
                settings.volumes.append(_new_volume(f"{name}-data", zone, growth))
                settings.consumers.append(_program(settings, name, f"{name}-data"))

    instances = ["a spare volume"] * spare + [f"logs with {count} of {members}" if n == "logs" else n for n in names]
    return Change(f"add {', '.join(instances)}", apply)


def _new_volume(name: str, zone: str, fs_type: str) -> Section:
    return {"name": name, "zone": zone, "sizeGib": 1, "fsType": fs_type, "protect": False}


def _program(settings: StackSettings, name: str, volume: str, *, count: int = 1, per_alloc: bool = False) -> Section:
    """A program on a volume that runs wherever MySQL can: in the same image, or as the same user."""
    mysql = settings.mysql
    task = {key: mysql[key] for key in ("taskDriver", "image", "user") if key in mysql}
    mount: Section = {"volume": volume, "path": "/data", **({"perAlloc": True} if per_alloc else {})}
    own = {"command": "/bin/sleep", "args": ["1d"], "killTimeout": "3s", "cpuMhz": 50, "memoryMib": 32}
    return {"name": name, "count": count, "mounts": [mount], **task, **own}


def _free(settings: StackSettings) -> list[str]:
    """Volumes that a job can have: nobody has or had them, and they are not for MySQL to go to."""
    kept, zone = settings.used() | settings.held | {"mysql", _SPARE}, settings.volume("mysql")["zone"]
    return [one["name"] for one in settings.volumes if one["name"] not in kept and one.get("zone") == zone]


def _unused_name(draw: Draw, settings: StackSettings, stem: str) -> str:
    taken = {one["name"] for one in (*settings.consumers, *settings.volumes)}
    return next(name for name in (f"{stem}-{draw.randrange(1000)}" for _ in range(99)) if name not in taken)


def _add_consumer(settings: StackSettings, draw: Draw) -> Change | None:
    name = _unused_name(draw, settings, "program")
    free = _free(settings)
    volume, made = (draw.choice(free), False) if free and draw.random() < 1 / 2 else (f"{name}-data", True)

    def apply(at: StackSettings) -> None:
        if made:
            at.volumes.append(_new_volume(volume, at.volume("mysql")["zone"], "xfs"))
        at.volume(volume)
        at.consumers.append(_program(at, name, volume))

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
    old, new = draw.choice(known), _unused_name(draw, settings, "renamed")

    def apply(at: StackSettings) -> None:
        at.consumer(old).update(name=new, renamedFrom=old)

    return Change(f"rename {old} to {new}", apply)


def _sets(settings: StackSettings) -> list[Section]:
    return [one for one in settings.consumers if any(mount.get("perAlloc") for mount in one["mounts"])]


def _scale(settings: StackSettings, draw: Draw) -> Change | None:
    if not (sets := _sets(settings)):
        return None
    name, old = sets[0]["name"], sets[0]["count"]
    new = draw.choice([number for number in (1, 2, 3) if number != old])

    def apply(at: StackSettings) -> None:
        at.consumer(name)["count"] = new
        at.volume(_SET)["count"] = max(new, at.volume(_SET)["count"])

    return Change(f"scale {name} from {old} to {new}", apply)


def _resize_set(settings: StackSettings, draw: Draw) -> Change | None:
    known = [one for one in settings.volumes if one["name"] == _SET]
    if not known:
        return None
    users = [one["count"] for one in _sets(settings)]
    sizes = [number for number in (1, 2, 3) if number >= max(users, default=1) and number != known[0]["count"]]
    return _set_of_volume(_SET, "count", draw.choice(sizes)) if sizes else None


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

    def apply(at: StackSettings) -> None:
        at.consumer(name)[key] = value

    return Change(f"{name}.{key} = {value}", apply)


def _single_mounts(settings: StackSettings) -> list[str]:
    return [one["name"] for one in settings.consumers if not any(mount.get("perAlloc") for mount in one["mounts"])]


def _other_volume(settings: StackSettings, draw: Draw) -> Change | None:
    """A program moves to another volume, or has one more, or one less."""
    if not (known := _single_mounts(settings)):
        return None
    name = draw.choice(known)
    free, mounts = _free(settings), settings.consumer(name)["mounts"]
    volume = draw.choice(free) if free else _unused_name(draw, settings, "volume")
    way = draw.choice(("switch", "more", "less" if len(mounts) > 1 else "switch"))

    def apply(at: StackSettings) -> None:
        one = at.consumer(name)
        if way == "less":
            if len(one["mounts"]) == 1:
                raise MissingError(f"a second mount of {name}")
            one["mounts"].pop()
            return
        if volume not in free:
            at.volumes.append(_new_volume(volume, at.volume("mysql")["zone"], "xfs"))
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

    def apply(at: StackSettings) -> None:
        at.consumer(name)["mounts"][0][key] = value

    return Change(f"{name} mounts with {key} {value}", apply)


def _set_of_volume(name: str, key: str, value: Any) -> Change:
    def apply(at: StackSettings) -> None:
        at.volume(name)[key] = value

    return Change(f"volume {name}.{key} = {value}", apply)


def _add_volume(settings: StackSettings, draw: Draw) -> Change | None:
    name, zones = (
        _unused_name(draw, settings, "volume"),
        sorted({one["zone"] for one in settings.volumes if "zone" in one}),
    )
    volume = _new_volume(name, draw.choice(zones), draw.choice(("xfs", "ext4")))
    return Change(f"add volume {name} in {volume['zone']}", lambda at: at.volumes.append(copy.deepcopy(volume)))


def _remove_volume(settings: StackSettings, draw: Draw) -> Change | None:
    known = [one["name"] for one in settings.volumes if one["name"] not in settings.used() | {"mysql"}]
    if not known:
        return None
    name = draw.choice(known)
    return Change(f"remove volume {name}", lambda at: at.volumes.remove(at.volume(name)))


def _grow(settings: StackSettings, draw: Draw) -> Change | None:
    """EC2 changes a volume again only hours later."""
    known = [one["name"] for one in settings.volumes if one["sizeGib"] == 1 and one["fsType"] == "xfs"]
    return _set_of_volume(draw.choice(known), "sizeGib", 2) if known else None


def _alter_volume(settings: StackSettings, draw: Draw) -> Change | None:
    name = draw.choice(settings.volumes)["name"]
    key, value = draw.choice(
        (
            ("mountFlags", draw.choice((["noatime"], ["nodiratime"]))),
            ("mountFlags", ["noatime", "nodiratime"]),
            ("tags", {"team": draw.choice(("red", "blue"))}),
            ("growth", draw.choice(("online", "restart"))),
        )
    )
    return _set_of_volume(name, key, value)


def _switch_mysql(settings: StackSettings, draw: Draw) -> Change | None:
    """Onto another volume, also in another zone, and back."""
    names = {one["name"] for one in settings.volumes} & {"mysql", "archive", _SPARE} - settings.used()
    if not names:
        return None
    name = draw.choice(sorted(names))

    def apply(at: StackSettings) -> None:
        at.volume(name)
        at.mysql["volume"] = name

    return Change(f"MySQL on volume {name}", apply)


def _alter_mysql(settings: StackSettings, draw: Draw) -> Change | None:
    memory = settings.mysql["memoryMib"]
    key, value = draw.choice(
        (
            ("memoryMib", memory + draw.choice((-8, 8, 16))),
            ("cpuMhz", draw.choice((150, 160, 170))),
            ("serverArgs", [f"--max-connections={draw.choice((120, 130))}"]),
            ("config", {"max_connections": draw.choice((140, 150))}),
            ("killTimeout", draw.choice(("10s", "15s"))),
            ("databases", draw.choice((["shop"], ["shop", "store"]))),
            ("users", [{"name": "shop", "database": "shop"}]),
            ("jobId", draw.choice(("mysql-server", "mysql-a", "mysql-b"))),
            ("jobId", draw.choice(("mysql-server", "mysql-c", "mysql-d"))),
            ("port", draw.choice((3306, 3307, 0))),
            ("stopAfterDisconnect", draw.choice(("15s", "25s"))),
        )
    )

    def apply(at: StackSettings) -> None:
        at.mysql[key] = value
        if key == "users":
            at.mysql.setdefault("databases", ["shop"])

    return Change(f"mysql.{key} = {value}", apply)


def _backup(settings: StackSettings, draw: Draw) -> Change | None:
    if "backup" in settings.mysql:
        return Change("no backups", lambda at: at.mysql.pop("backup", None))
    free = _free(settings)
    volume = draw.choice(free) if free else _unused_name(draw, settings, "dumps")

    def apply(at: StackSettings) -> None:
        if volume not in free:
            at.volumes.append(_new_volume(volume, at.volume("mysql")["zone"], "xfs"))
        at.volume(volume)
        at.mysql["backup"] = {"volume": volume}

    return Change(f"backups on {volume}", apply)


def _alter_plugin(settings: StackSettings, draw: Draw) -> Change | None:
    key, value = draw.choice(
        (
            ("controllers", draw.choice((1, 2, 3))),
            ("logLevel", draw.choice((3, 4))),
            ("memoryMib", settings.plugin["memoryMib"] + draw.choice((-8, 8))),
            ("healthTimeout", draw.choice(("25s", "35s"))),
            ("jobIds", {"controller": "ebs-c", "node": "ebs-n"}),
            ("jobIds", {"controller": f"ebs-{draw.randrange(99)}"}),
            ("id", draw.choice(("ebs1", "ebs2"))),
            ("id", draw.choice(("aws-ebs0", "ebs3"))),
        )
    )

    def apply(at: StackSettings) -> None:
        at.plugin[key] = value
        base = at.plugin.get("stagePublishBaseDir", "")
        if key == "id" and base:
            at.plugin["stagePublishBaseDir"] = f"{base.rpartition('/')[0]}/{value}"

    return Change(f"plugin.{key} = {value}", apply)


def _place(settings: StackSettings, draw: Draw) -> Change | None:
    now = settings.placement["namespace"]
    key, value = draw.choice((("namespace", "default" if now == ELSEWHERE else ELSEWHERE), ("datacenters", ["dc1"])))

    def apply(at: StackSettings) -> None:
        at.placement[key] = value

    return Change(f"placement.{key} = {value}", apply)


KINDS: Final[dict[Kind, int]] = {
    _add_consumer: 2,
    _remove_consumer: 2,
    _rename_consumer: 3,
    _scale: 3,
    _resize_set: 1,
    _alter_consumer: 3,
    _other_volume: 3,
    _alter_mount: 2,
    _add_volume: 1,
    _remove_volume: 2,
    _grow: 3,
    _alter_volume: 2,
    _switch_mysql: 4,
    _alter_mysql: 4,
    _backup: 1,
    _alter_plugin: 3,
    _place: 2,
}
"""Each kind of change, and how often it is drawn compared with the others."""
