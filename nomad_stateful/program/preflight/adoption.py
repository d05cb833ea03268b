"""EBS volumes that the stack created and lost from its state, next to which it would create empty ones."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nomad_stateful.components.zonal_volumes import Adopted
from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.ebs.tags import GUARD_TAG, STACK_TAG
from nomad_stateful.program.plan.model import EbsVolume
from nomad_stateful.program.settings import Problem
from nomad_stateful.program.settings.volume import OWN_TAGS

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
