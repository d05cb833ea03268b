"""How far a volume's change of zone has come: read from the settings, the engine's state, Nomad and EC2 each time.

Nothing else is remembered, so that the same command goes on after a kill, on another machine too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nomad_stateful.ebs.tags import GUARD_TAG
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.resource_types import (
    EBS_VOLUME,
    NOMAD_CSI_REGISTRATION,
    NOMAD_JOB,
    VOLUME_GUARD,
    VOLUME_PROTECTION,
)

Phase = Literal["begin", "prepare", "stop", "switch", "done"]
"""What is next.

begin: `moveTo` is to be set; prepare: an `up` lets the volume go; stop: its consumers are stopped, the snapshot taken,
`zone` and `snapshotId` set; switch: an `up` makes the new volume, and starts them on it; done: it is there.
"""
VOLUMES = "nomad-stateful:volumes"


class ZoneChangeError(OperateError):
    """The change of zone is refused, or cannot go on; nothing is lost."""


@dataclass(frozen=True)
class Setting:
    """A volume's entry in the settings."""

    path: str
    """Where it stands, such as nomad-stateful:volumes[0]."""
    name: str
    zone: str
    move_to: str
    snapshot_id: str


@dataclass(frozen=True)
class Stored:
    """What the engine's state knows of the volume."""

    zone: str
    """Zone by its guard."""
    move_to: str
    """Zone that an `up` let it go to, to its end; "" where that was cut off, so that it may not leave yet."""
    guard_id: str
    volume_id: str
    """EBS volume of the guard; "" while a new one is not made yet."""
    registered_id: str
    """EBS volume that is registered with Nomad by the state; "" if none is."""
    namespace: str
    plugin_id: str
    snapshot_id: str
    """Snapshot that it was made from; "" if from none."""
    job_ids: frozenset[str]
    """Jobs of the stack."""


def setting(config: Mapping[str, Any], name: str) -> Setting:
    """Returns the entry of a single volume that Pulumi makes. Raises ZoneChangeError."""
    entries = [one for one in config.get(VOLUMES) or [] if isinstance(one, dict)]
    for index, entry in enumerate(entries):
        if entry.get("name") == name:
            _refuse_others(entry)
            path = f"{VOLUMES}[{index}]"
            values = (str(entry.get(key) or "") for key in ("zone", "moveTo", "snapshotId"))
            return Setting(path, name, *values)
    known = ", ".join(sorted(str(one.get("name")) for one in entries)) or "none"
    raise ZoneChangeError(f"the settings have no single volume {name}: they have {known}")


def _refuse_others(entry: Mapping[str, Any]) -> None:
    name, provision = entry["name"], entry.get("provision") or "pulumi"
    if provision != "pulumi":
        raise ZoneChangeError(
            f"volumes.{name}.provision is {provision}: only EBS volumes that Pulumi makes are moved by this command. "
            "Copy the data to a volume of a new name, for a database by a dump: docs/disaster-recovery.md"
        )
    if entry.get("count") is not None:
        raise ZoneChangeError(
            f"volumes.{name}.count is {entry['count']}: a set of volumes is spread over zones, and only single "
            "volumes are moved by this command. Restore a snapshot to a volume of a new name: docs/volumes.md, "
            "Restore"
        )


def stored(resources: Sequence[Mapping[str, Any]], name: str) -> Stored:
    """Returns what the state knows of the volume. Raises ZoneChangeError where it has none."""
    guard = next((one for one in _of(resources, VOLUME_GUARD) if one.get("volumeName") == name), None)
    if guard is None:
        raise ZoneChangeError(f"the stack's state has no volume {name}: run `pulumi up` first")
    made = [one for one in _of(resources, EBS_VOLUME) if (one.get("tags") or {}).get(GUARD_TAG) == guard["guardId"]]
    registered = next((one for one in _of(resources, NOMAD_CSI_REGISTRATION) if one.get("volumeId") == name), {})
    return Stored(
        zone=str(guard["zone"]),
        move_to=str(guard.get("moveTo") or "") if _may_leave(resources, name, guard) else "",
        guard_id=str(guard["guardId"]),
        volume_id=str(made[0]["arn"].rpartition("/")[2]) if made else "",
        registered_id=str(registered.get("externalId") or ""),
        namespace=str(registered.get("namespace") or "default"),
        plugin_id=str(registered.get("pluginId") or ""),
        snapshot_id=str(guard.get("snapshotId") or ""),
        job_ids=frozenset(str(one.get("jobId") or one.get("name") or "") for one in _of(resources, NOMAD_JOB)),
    )


def _may_leave(resources: Sequence[Mapping[str, Any]], name: str, guard: Mapping[str, Any]) -> bool:
    """Returns whether all that holds the volume lets it go: its guard, which this takes for granted, is the first.

    The engine goes by the options in its state: one that is not retained yet would be deleted for good.
    """
    held = [
        one
        for one in resources
        if one.get("type") == EBS_VOLUME and _guard_id(one) == guard["guardId"] and not one.get("delete")
    ]
    protection = next((one for one in _of(resources, VOLUME_PROTECTION) if one.get("volumeName") == name), {})
    released = all(one.get("retainOnDelete") and not one.get("protect") for one in held)
    return released and bool(protection.get("leaving"))


def _guard_id(volume: Mapping[str, Any]) -> str:
    return str(((volume.get("outputs") or {}).get("tags") or {}).get(GUARD_TAG) or "")


def _of(resources: Sequence[Mapping[str, Any]], token: str) -> Iterator[Mapping[str, Any]]:
    return (one["outputs"] for one in resources if one.get("type") == token and one.get("outputs"))


def phase(now: Setting, known: Stored, zone: str) -> Phase:
    """Returns what is next on the way to a zone. Raises ZoneChangeError where another way was begun."""
    if now.move_to and now.move_to != zone:
        raise ZoneChangeError(
            f"volumes.{now.name}.moveTo is {now.move_to}: its move there was begun. End that first (--zone "
            f"{now.move_to}), or give it up. {way_back(now, known, now.move_to)}"
        )
    if now.zone == zone:
        if known.zone == zone and not now.move_to:
            return "done"
        if zone not in (known.zone, known.move_to):
            raise ZoneChangeError(
                f"volumes.{now.name}.zone is {zone}, and the stack has the volume in {known.zone}, which it may not "
                "leave: the setting was changed by hand, or another `pulumi up` took moveTo back. Set zone to "
                f"{known.zone}, and run the same command again"
            )
        return "switch"
    if not now.move_to:
        return "begin"
    return "stop" if known.move_to == zone else "prepare"


def way_back(now: Setting, known: Stored, zone: str) -> str:
    """Returns how a move is given up, which ends where the new volume is made."""
    name, there = f"volumes.{now.name}", known.zone == zone
    if there and known.volume_id:
        return f"{known.volume_id} in {zone} is made already: end the move, and then move back"
    steps = [f"set {name}.zone to {'the one before' if there else known.zone}"] if now.zone == zone else []
    steps.append(f"remove {name}.moveTo{' and snapshotId' if now.snapshot_id else ''}")
    return f"To give it up: {', '.join(steps)}, and run `pulumi up --refresh`, which starts what was stopped"
