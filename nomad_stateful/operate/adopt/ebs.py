"""EBS volumes made by hand that become the stack's: their settings, and the tags by which the program finds them.

`volumes[].adopt` takes the EBS volume that has the volume's name and the stack's tags, and refuses settings that it
does not have. So the tags are written first: a run that is killed in between goes on with what has them.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.drivers.ebs_limits import VOLUME_TYPES
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.tags import GUARD_TAG, STACK_TAG
from nomad_stateful.ebs.volumes import EbsVolumes, Volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.operate import stack
from nomad_stateful.operate.adopt.found import Found, FoundVolume
from nomad_stateful.operate.adopt.settings import Adoption, Gap
from nomad_stateful.operate.errors import OperateError

Json = Mapping[str, Any]

_USABLE = ("creating", "available", "in-use")
_OWN_PREFIX = "nomad-stateful-"
_OWN = frozenset({"Name", MANAGED_TAG, STACK_TAG, GUARD_TAG})
_MOST_TAGS = 40
"""The settings take no more: EC2 takes 50, of which the program, the driver and defaultTags need some."""


@dataclass(frozen=True)
class Tagging:
    """The tags that an EBS volume is to have."""

    volume: str
    """Id in Nomad."""
    external_id: str
    has: Mapping[str, str]
    wanted: Mapping[str, str]
    """Without the guard's id, where one is to be drawn."""

    @property
    def missing(self) -> dict[str, str | None]:
        """Tags to write, in order; None is a value that is drawn when it is written."""
        all_of_them: dict[str, str | None] = {**self.wanted, GUARD_TAG: self.wanted.get(GUARD_TAG)}
        return {key: value for key, value in all_of_them.items() if value is None or self.has.get(key) != value}

    def __str__(self) -> str:
        subject = f"volume {self.volume} ({self.external_id})"
        if not self.missing:
            return f"{subject} has them already"
        return f"{subject}: " + ", ".join(self._shown(key, value) for key, value in self.missing.items())

    def _shown(self, key: str, value: str | None) -> str:
        was = f" (it is {self.has[key]})" if key in self.has else ""
        return f"{key}={value or '(drawn)'}{was}"


def take(made: Adoption, found: Found, place: AwsPlace) -> tuple[Adoption, list[Tagging]]:
    """Returns the adoption with the EBS volumes as the stack's own, and the tags for it. Raises ProviderError.

    A volume that cannot become the stack's stays `existing`, and a gap says why.
    """
    tag = stack.tag()
    tagged = EbsVolumes(place).tagged({STACK_TAG: tag})
    namespace = made.settings["placement"]["namespace"]
    volumes, gaps, taggings = [], [], []
    for settings in made.settings["volumes"]:
        volume = next(one for one in found.volumes if (one.namespace, one.volume_id) == (namespace, settings["name"]))
        plugin = found.plugins[volume.registration.plugin_id]
        if volume.ebs is None or plugin.driver is None or plugin.driver.name != "ebs":
            volumes.append(settings)
        elif refused := list(_refused(volume, volume.ebs, found, tag, tagged)):
            gaps += refused
            volumes.append(settings)
        else:
            volumes.append(_settings(settings, volume.ebs))
            taggings.append(_tagging(volume, volume.ebs, tag, tagged))
    existing = [one["name"] for one in volumes if one.get("provision") == "existing"]
    whole = {key: value for key, value in made.settings.items() if key != "adopt"} | {"volumes": volumes}
    whole |= {"adopt": existing} if existing else {}
    return replace(made, settings=whole, gaps=[*made.gaps, *gaps]), taggings


def write(taggings: Sequence[Tagging], place: AwsPlace) -> None:
    """Writes the tags that are missing, each volume's at once.

    Raises OperateError where EC2 refuses, or a volume has other tags than before the question.
    """
    volumes = EbsVolumes(place)
    now = {one.id: one.tags for one in volumes.named(one.external_id for one in taggings).values()}
    if changed := [one.external_id for one in taggings if now.get(one.external_id) != one.has]:
        raise OperateError(
            f"{', '.join(changed)} has other tags than before the question, or is gone: somebody else changes it. "
            "Nothing was written. Run the same command again"
        )
    for one in taggings:
        if not one.missing:
            continue
        try:
            volumes.tag(one.external_id, {key: value or secrets.token_hex(8) for key, value in one.missing.items()})
        except ProviderError as error:
            raise OperateError(
                f"volume {one.volume}: {error}. No settings were written. Fix the cause and run "
                "the same command to resume"
            ) from None


def _settings(settings: Json, ebs: Volume) -> dict[str, Any]:
    """Returns a volume's settings as one that Pulumi makes, with what EC2 says of it."""
    kind = VOLUME_TYPES[ebs.type]
    own: dict[str, Any] = {"sizeGib": ebs.size_gib, "type": ebs.type}
    if kind.iops and ebs.iops:
        own["iops"] = ebs.iops
    if kind.throughput_mibps and ebs.throughput_mibps:
        own["throughputMibps"] = ebs.throughput_mibps
    own["encrypted"] = ebs.encrypted
    if ebs.encrypted and (ebs.kms_key_id or "").startswith("arn:"):
        own["kmsKeyArn"] = ebs.kms_key_id
    own["adopt"] = True
    if tags := _further(ebs):
        own["tags"] = tags
    first = {key: settings[key] for key in ("name", "plugin", "zone")}
    rest = {key: value for key, value in settings.items() if key not in ("provision", "externalId")}
    return first | own | rest


def _tagging(volume: FoundVolume, ebs: Volume, tag: str, tagged: Sequence[Volume]) -> Tagging:
    has = ebs.tags
    wanted = {"Name": volume.volume_id, MANAGED_TAG: MANAGED_TAG_VALUE, STACK_TAG: tag}
    guard = has.get(GUARD_TAG)
    # Of this command's own earlier run. Another stack's guard would go on taking the volume for its own.
    others = {one.tags.get(GUARD_TAG) for one in tagged if one.id != ebs.id}
    if guard and has.get(STACK_TAG) == tag and guard not in others:
        wanted[GUARD_TAG] = guard
    return Tagging(volume.volume_id, ebs.id, has, wanted)


def _refused(volume: FoundVolume, ebs: Volume, found: Found, tag: str, tagged: Sequence[Volume]) -> Iterator[Gap]:
    """Yields why an EBS volume stays existing."""

    def gap(key: str, value: str, why: str, remedy: str) -> Gap:
        what = f"{why}, so that {ebs.id} stays existing"
        return Gap(f"volume {volume.volume_id}", key, value, what, remedy, leaves_out=False)

    yield from _not_so(gap, ebs, tag)
    yield from _not_alone(gap, volume, found, tagged)


def _not_so(gap: Callable[[str, str, str, str], Gap], ebs: Volume, tag: str) -> Iterator[Gap]:
    if ebs.multi_attach:
        why = "the program makes no volumes with multi-attach, and would turn it off"
        yield gap("multi_attach", "enabled", why, "nothing is to be done")
    if (owner := ebs.tags.get(STACK_TAG, tag)) != tag:
        untag = f"`aws ec2 delete-tags --resources {ebs.id} --tags Key={STACK_TAG} Key={GUARD_TAG}`"
        remedy = f"if that stack is gone, take its tags off ({untag}), and run this again"
        yield gap(f"tag {STACK_TAG}", owner, "it is that stack's by its tags", remedy)
    for key in sorted(key for key in ebs.tags if key.startswith(_OWN_PREFIX) and key not in _OWN):
        why = "it is kept for something else by that tag (docs/volumes.md)"
        yield gap(f"tag {key}", ebs.tags[key], why, "take the tag off if that is over, and run this again")
    if ebs.state not in _USABLE:
        yield gap("state", ebs.state, "EC2 is about to lose it, or has", "look at it in EC2")
    if ebs.type not in VOLUME_TYPES:
        yield gap("type", ebs.type, "the settings do not know this type", "nothing is to be done")
    if len(_further(ebs)) > _MOST_TAGS:
        why = f"the settings take {_MOST_TAGS} tags besides the program's"
        yield gap("tags", f"{len(_further(ebs))} tags", why, "take some off, and run this again")


def _not_alone(
    gap: Callable[[str, str, str, str], Gap], volume: FoundVolume, found: Found, tagged: Sequence[Volume]
) -> Iterator[Gap]:
    volume_id = volume.registration.external_id
    ids = [one.volume_id for one in found.volumes if one.registration.external_id == volume_id]
    if len(ids) > 1:
        why = "Nomad counts the writers of each registration separately"
        yield gap("external_id", f"registered as {', '.join(ids)}", why, "leave one of them, and run this again")
    for one in tagged:
        if one.id != volume_id and one.tags.get("Name") == volume.volume_id and one.state in _USABLE:
            why = f"{one.id} has this stack's tags and this name already"
            untag = f"`aws ec2 delete-tags --resources {one.id} --tags Key={STACK_TAG}`"
            yield gap("name", volume.volume_id, why, f"take the tag off that one ({untag}), and run this again")


def _further(ebs: Volume) -> dict[str, str]:
    """Returns the tags that are neither the program's nor AWS's."""
    return {key: value for key, value in ebs.tags.items() if key not in _OWN and not key.lower().startswith("aws:")}
