"""Changes of volumes."""

from __future__ import annotations

import copy
from typing import Final

from tools.faults.setting_changes.model import SET, Change, Draw, Kind, new_volume, unused_name, volume_setting
from tools.faults.stack_settings import StackSettings


def _add_volume(settings: StackSettings, draw: Draw) -> Change | None:
    name = unused_name(draw, settings, "volume")
    zones = sorted({one["zone"] for one in settings.volumes if "zone" in one})
    volume = new_volume(name, draw.choice(zones), draw.choice(("xfs", "ext4")))
    return Change(f"add volume {name} in {volume['zone']}", lambda at: at.volumes.append(copy.deepcopy(volume)))


def _remove_volume(settings: StackSettings, draw: Draw) -> Change | None:
    first = settings.server.volume
    kept = settings.used() | {settings.names.get(first, first)}
    known = [one["name"] for one in settings.volumes if one["name"] not in kept]
    if not known:
        return None
    name = draw.choice(known)
    return Change(f"remove volume {name}", lambda at: at.volumes.remove(at.volume(name)))


def _grow(settings: StackSettings, draw: Draw) -> Change | None:
    """EC2 changes a volume again only hours later."""
    known = [one["name"] for one in settings.volumes if one["sizeGib"] == 1 and one.get("fsType") == "xfs"]
    return volume_setting(draw.choice(known), "sizeGib", 2) if known else None


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
    return volume_setting(name, key, value)


def _rename_volume(settings: StackSettings, draw: Draw) -> Change | None:
    known = [one["name"] for one in settings.volumes if "renamedFrom" not in one and one["name"] != SET]
    if not known:
        return None
    old, new = draw.choice(known), unused_name(draw, settings, "renamed")
    return Change(f"rename volume {old} to {new}", lambda at: at.rename(old, new))


KINDS: Final[dict[Kind, int]] = {
    _add_volume: 1,
    _remove_volume: 2,
    _grow: 3,
    _alter_volume: 2,
    _rename_volume: 3,
}
"""Each kind, and how often it is drawn compared with the others."""
