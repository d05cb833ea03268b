"""Changes of MySQL, of the plugin, and of where the jobs run."""

from __future__ import annotations

from typing import Final

from tests.faults.setting_changes.model import (
    ELSEWHERE,
    SPARE,
    Change,
    Draw,
    Kind,
    free_volumes,
    new_volume,
    unused_name,
)
from tests.faults.stack_settings import StackSettings


def _switch_mysql(settings: StackSettings, draw: Draw) -> Change | None:
    """Onto another volume, also in another zone, and back."""
    names = {one["name"] for one in settings.volumes} & {"mysql", "archive", SPARE} - settings.used()
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
    free = free_volumes(settings)
    volume = draw.choice(free) if free else unused_name(draw, settings, "dumps")

    def apply(at: StackSettings) -> None:
        if volume not in free:
            at.volumes.append(new_volume(volume, at.volume("mysql")["zone"], "xfs"))
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
    _switch_mysql: 4,
    _alter_mysql: 4,
    _backup: 1,
    _alter_plugin: 3,
    _place: 2,
}
"""Each kind, and how often it is drawn compared with the others."""
