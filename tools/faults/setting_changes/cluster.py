"""Changes of the database, of the plugin, and of where the jobs run."""

from __future__ import annotations

from typing import Final

from tools.faults.setting_changes.model import (
    ELSEWHERE,
    SECOND,
    Change,
    Draw,
    Kind,
    for_database,
    free_volumes,
    new_volume,
    unused_name,
)
from tools.faults.stack_settings import MissingError, StackSettings


def _switch_database(settings: StackSettings, draw: Draw) -> Change | None:
    """Onto another volume, also in another zone, and back."""
    names = [name for name in for_database(settings) if name not in settings.used()]
    if not names:
        return None
    name = draw.choice(names)

    def apply(at: StackSettings) -> None:
        at.volume(name)
        at.database["volume"] = name

    return Change(f"{settings.server.title} on volume {name}", apply)


def _alter_database(settings: StackSettings, draw: Draw) -> Change | None:
    memory, name = settings.database.get("memoryMib", 1024), settings.server.name
    port = settings.server.settings["port"]
    key, value = draw.choice(
        (
            ("memoryMib", memory + draw.choice((-8, 8, 16))),
            ("cpuMhz", draw.choice((150, 160, 170))),
            ("serverArgs", [f"--max-connections={draw.choice((120, 130))}"]),
            ("config", {"max_connections": draw.choice((140, 150))}),
            ("killTimeout", draw.choice(("10s", "15s"))),
            ("databases", draw.choice((["shop"], ["shop", "store"]))),
            ("users", [{"name": "shop", "database": "shop"}]),
            ("jobId", draw.choice((f"{name}-server", f"{name}-a", f"{name}-b"))),
            ("jobId", draw.choice((f"{name}-server", f"{name}-c", f"{name}-d"))),
            ("port", draw.choice((port, port + 1, 0))),
            ("stopAfterDisconnect", draw.choice(("20s", "25s"))),
        )
    )

    def apply(at: StackSettings) -> None:
        at.database[key] = value
        if key == "users":
            at.database.setdefault("databases", ["shop"])

    return Change(f"{name}.{key} = {value}", apply)


def _backup(settings: StackSettings, draw: Draw) -> Change | None:
    if "backup" in settings.database:
        return Change("no backups", lambda at: at.database.pop("backup", None))
    free = free_volumes(settings)
    volume = draw.choice(free) if free else unused_name(draw, settings, "dumps")

    def apply(at: StackSettings) -> None:
        if volume not in free:
            at.volumes.append(new_volume(volume, at.zone, "xfs"))
        at.volume(volume)
        at.database["backup"] = {"volume": volume}

    return Change(f"backups on {volume}", apply)


def _alter_plugin(settings: StackSettings, draw: Draw) -> Change | None:
    key, value = draw.choice(
        (
            ("controllers", draw.choice((1, 2, 3))),
            ("logLevel", draw.choice((3, 4))),
            ("memoryMib", settings.plugin.get("memoryMib", 256) + draw.choice((-8, 8))),
            ("healthTimeout", draw.choice(("25s", "35s"))),
            ("jobIds", {"controller": "ebs-c", "node": "ebs-n"}),
            ("jobIds", {"controller": f"ebs-{draw.randrange(99)}"}),
        )
    )
    return Change(f"plugin.{key} = {value}", lambda at: at.plugin.update({key: value}))


def _rename_plugin(_settings: StackSettings, draw: Draw) -> Change | None:
    plugin_id = draw.choice(("aws-ebs0", "ebs1", "ebs2"))

    def apply(at: StackSettings) -> None:
        for volume in at.volumes:
            if volume.get("plugin") == at.plugin["id"]:
                volume["plugin"] = plugin_id
        at.plugin["id"] = plugin_id

    return Change(f"plugin.id = {plugin_id}", apply)


def _move_to_plugin(settings: StackSettings, draw: Draw) -> Change | None:
    """A volume is mounted by another plugin of its driver, which comes with the first of them."""
    volume = draw.choice(settings.volumes)
    name, to_second = volume["name"], volume.get("plugin") != SECOND

    def apply(at: StackSettings) -> None:
        if to_second and len(at.plugins) == 1:
            at.plugins.append({key: value for key, value in at.plugin.items() if key != "jobIds"} | {"id": SECOND})
        at.volume(name)["plugin"] = SECOND if to_second else at.plugin["id"]

    return Change(f"move volume {name} to {'a second plugin' if to_second else settings.plugin['id']}", apply)


def _remove_plugin(settings: StackSettings, _draw: Draw) -> Change | None:
    """The second plugin goes, and its volumes to the first one."""
    if len(settings.plugins) == 1:
        return None

    def apply(at: StackSettings) -> None:
        if len(at.plugins) == 1:
            raise MissingError(SECOND)
        at.plugins.pop()
        for volume in at.volumes:
            volume.pop("plugin", None)

    return Change("remove the second plugin", apply)


def _place(settings: StackSettings, draw: Draw) -> Change | None:
    now, _ = settings.job()
    key, value = draw.choice((("namespace", "default" if now == ELSEWHERE else ELSEWHERE), ("datacenters", ["dc1"])))
    return Change(f"placement.{key} = {value}", lambda at: at.placement.update({key: value}))


KINDS: Final[dict[Kind, int]] = {
    _switch_database: 4,
    _alter_database: 4,
    _backup: 1,
    _alter_plugin: 3,
    _rename_plugin: 2,
    _move_to_plugin: 2,
    _remove_plugin: 2,
    _place: 2,
}
"""Each kind, and how often it is drawn compared with the others."""
