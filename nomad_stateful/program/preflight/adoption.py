"""Volumes and registrations that are there and become the stack's: each has to be what the plan would make of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nomad_stateful.components.zonal_volumes import Adopted
from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.ebs.tags import GUARD_TAG, STACK_TAG
from nomad_stateful.nomad.registration import Registration
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.plan.model import EbsVolume, Volume
from nomad_stateful.program.settings import Problem
from nomad_stateful.program.settings.volume import OWN_TAGS

_HIDDEN = "Nomad does not say which"
_USABLE = ("creating", "available", "in-use")


def adopt(
    new: Sequence[EbsVolume], left: Sequence[Mapping[str, Any]], cut_off: Mapping[str, str]
) -> tuple[dict[str, Adopted], list[Problem]]:
    """Returns what is adopted, by the id in Nomad, and what is refused.

    `left` are the volumes with the stack's tag that its state does not know; `cut_off` are the guards by volume name
    whose volume's creation did not come to its end.
    """
    adopted: dict[str, Adopted] = {}
    problems: list[Problem] = []
    for wanted in new:
        name = wanted.id
        named = _named(wanted, left)
        # Made by an `up` that was cut off before its state knew: nobody else can have this guard's id.
        begun = [one for one in named if one["guardId"] and one["guardId"] == cut_off.get(name)]
        found = begun or named
        refused = list(_refused(wanted, found, wanted.adopt or bool(begun)))
        problems += refused
        if found and not refused:
            adopted[name] = {"volume_id": found[0]["id"], "guard_id": found[0]["guardId"]}
    return adopted, problems


def not_found(new: Sequence[EbsVolume], stack: str, left: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """Yields which volumes are to be adopted and are not there: others are made in their place."""
    for wanted in new:
        if wanted.adopt and not _named(wanted, left):
            name, snapshot = wanted.id, wanted.snapshot_id
            made = f"one is made from {snapshot}" if snapshot else "an empty one is made"
            rule = f"EC2 has no volume with the tags Name={name} and {STACK_TAG}={stack}, and {made}"
            remedy = (
                "if there is one, stop here and give it these tags: under an earlier name of the stack its "
                f"{STACK_TAG} is another (`aws ec2 describe-volumes --filters Name=tag:Name,Values={name}`)"
            )
            yield Problem(f"{wanted.key}.adopt", "true", rule, remedy)


def _named(wanted: EbsVolume, left: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [one for one in left if one["name"] == wanted.id and one["state"] in _USABLE]


def _refused(wanted: EbsVolume, found: Sequence[Mapping[str, Any]], may_adopt: bool) -> Iterator[Problem]:
    ids = " ".join(one["id"] for one in found)
    untag = f"take the tag off: `aws ec2 delete-tags --resources {ids} --tags Key={STACK_TAG}`"
    if found and not may_adopt:
        rule = f"EC2 has {_shown(found)} with this stack's tags, and an empty volume would be created next to it"
        remedy = f"set adopt: true to go on with what is there; for an empty one take another name, or {untag}"
        yield Problem(wanted.key, "not in the stack's state", rule, remedy)
    elif len(found) > 1:
        rule = f"EC2 has {_shown(found)} with this stack's tags and this name"
        yield Problem(f"{wanted.key}.adopt", "true", rule, f"leave the tag on one alone; {untag}")
    elif found:
        yield from _different(wanted, found[0])


def _different(wanted: EbsVolume, left: Mapping[str, Any]) -> Iterator[Problem]:
    """Yields where the settings would change the volume, which is adopted as it is."""
    volume = wanted.storage
    compared = [
        ("zone", wanted.zone, left["zone"]),
        ("sizeGib", volume["size_gib"], left["sizeGib"]),
        ("type", volume["type"], left["type"]),
        ("iops", volume["iops"], left["iops"]),
        ("throughputMibps", volume["throughput_mibps"], left["throughputMibps"]),
    ]
    for key, value, has in compared:
        if value is not None and value != has:
            rule = f"{_shown([left])} is adopted as it is, with {_plain(has)}"
            yield Problem(
                f"{wanted.key}.{key}", str(value), rule, f"set it to {_plain(has)}; it may be changed afterwards"
            )
    own = {
        "Name": wanted.id,
        MANAGED_TAG: MANAGED_TAG_VALUE,
        GUARD_TAG: left["guardId"],
    }
    tags = {**volume["tags"], **own}
    if tags != left["tags"] or not left["guardId"]:
        keys = sorted(
            key for key in {*tags, *left["tags"]} if not tags.get(key) or tags.get(key) != left["tags"].get(key)
        )
        rule = f"{_shown([left])} is adopted as it is, and has other tags ({', '.join(keys)})"
        remedy = "set tags to those it has (`aws ec2 describe-tags`), or use it with provision: existing and externalId"
        yield Problem(f"{wanted.key}.tags", ", ".join(sorted({*volume["tags"]} - OWN_TAGS)) or "not set", rule, remedy)


def _plain(value: str | float) -> str:
    """Returns a value of an answer, in which all numbers have a fraction."""
    return value if isinstance(value, str) else str(int(value))


def _shown(volumes: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(
        f"EBS volume {one['id']} ({int(one['sizeGib'])} GiB, {one['zone']}, {one['state']})" for one in volumes
    )


def differences(volume: Volume, external_id: str, found: Registration) -> Iterator[Problem]:
    """Yields what the plan would change of a registration, by key, value, rule and remedy.

    `external_id` is that of the storage that is adopted.
    """
    key, planned = volume.key, volume.registration
    access, attachment, flags = planned["access_mode"], planned["attachment_mode"], planned["mount_flags"]
    # One that Pulumi made has it since Nomad expanded it, and is registered again as it is.
    if found.capacity and volume.provision == "existing":
        rule = f"its driver made it, through Nomad ({found.capacity} bytes), and Nomad refuses to register such a one"
        remedy = "leave this volume out; to have it here, deregister it while nothing uses it"
        yield Problem(f"{key}.provision", "existing", rule, remedy)
    capabilities = ", ".join(" with ".join(one) for one in found.capabilities)
    if found.capabilities != ((access, attachment),):
        value = f"{access} with {attachment}"
        remedy = "set accessMode and attachmentMode to these"
        if len(found.capabilities) > 1:
            remedy = "the settings have one: leave this volume out, or register it with one"
        yield Problem(f"{key}.accessMode", value, f"it is registered as {capabilities or 'nothing'}", remedy)
    compared = [
        ("registered.name", planned["registered_name"] or volume.id, found.name),
        ("plugin", volume.plugin, found.plugin_id),
        ("externalId", external_id, found.external_id),
        ("parameters", _as_json(planned["parameters"]), _as_json(found.parameters)),
        ("context", _as_json(planned["context"]), _as_json(found.context)),
        ("zone", *_places(volume, found)),
    ]
    if attachment == "file-system":
        compared.append(("fsType", planned["fs_type"], found.fs_type))
    for name, value, has in compared:
        if value != has:
            remedy = "set it so"
            if name == "zone":
                remedy += ", and registered.topologyKey to its key (empty for a registration without topology)"
            yield Problem(f"{key}.{name}", value or "not set", f"it is registered with {has or 'none'}", remedy)
    if bool(flags) != found.has_mount_flags:
        rule = f"it is registered with {f'mount flags ({_HIDDEN})' if found.has_mount_flags else 'no mount flags'}"
        yield Problem(f"{key}.mountFlags", ", ".join(flags) or "not set", rule, "set them so")


def _as_json(values: object) -> str:
    return json.dumps(values, sort_keys=True) if values else ""


def _places(volume: Volume, found: Registration) -> tuple[str, str]:
    """Returns what the volume would be reachable from, and what it is; a key that the nodes decide is either's."""
    has = "; ".join(",".join(f"{key}={value}" for key, value in segments) for segments in found.topologies)
    given, zone = volume.registration["topology_key"], volume.zone
    key = None if isinstance(given, Later) else given
    if key is None and len(found.topologies) == 1 and len(found.topologies[0]) == 1:
        has_key = found.topologies[0][0][0]
        key = has_key if has_key in volume.topology_keys else None
    if key is None:
        key = next(iter(volume.topology_keys), "")
    return (f"{key}={zone}" if key and zone else ""), has
