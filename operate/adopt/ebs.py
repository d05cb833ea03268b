"""EBS volumes made by hand that become the stack's: their settings, and the tags by which the program finds them.

`volumes[].adopt` takes the EBS volume that has the volume's name and the stack's tags, and refuses settings that it
does not have. So the tags are written first: a run that is killed in between goes on with what has them.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.drivers.ebs_limits import VOLUME_TYPES
from nomad_stateful.ebs.ec2_client import AwsPlace, aws_client
from nomad_stateful.ebs.guarded_volumes import GuardedVolumes
from nomad_stateful.ebs.tags import GUARD_TAG, STACK_TAG
from nomad_stateful.ebs.tags import read as read_tags
from operate import stack
from operate.adopt.found import Found, FoundVolume
from operate.adopt.settings import Adoption, Gap
from operate.errors import OperateError

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
    tagged = GuardedVolumes(place).of_stack(tag)
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
    """Writes the tags that are missing, each volume's at once. Raises OperateError where EC2 refuses."""
    ec2 = aws_client("ec2", place)
    for one in taggings:
        tags = [{"Key": key, "Value": value or secrets.token_hex(8)} for key, value in one.missing.items()]
        if not tags:
            continue
        try:
            ec2.create_tags(Resources=[one.external_id], Tags=tags)
        except (BotoCoreError, ClientError) as error:
            raise OperateError(
                f"EC2 does not tag {one.external_id} (volume {one.volume}): {error}. No settings were written. Allow "
                "ec2:CreateTags on the volumes and run the same command again: it goes on with those that have tags"
            ) from None


def _settings(settings: Json, ebs: Json) -> dict[str, Any]:
    """Returns a volume's settings as one that Pulumi makes, with what EC2 says of it."""
    kind = VOLUME_TYPES[ebs["VolumeType"]]
    own: dict[str, Any] = {"sizeGib": ebs["Size"], "type": ebs["VolumeType"]}
    if kind.iops and ebs.get("Iops"):
        own["iops"] = ebs["Iops"]
    if kind.throughput_mibps and ebs.get("Throughput"):
        own["throughputMibps"] = ebs["Throughput"]
    own["encrypted"] = bool(ebs.get("Encrypted"))
    if own["encrypted"] and str(ebs.get("KmsKeyId") or "").startswith("arn:"):
        own["kmsKeyArn"] = ebs["KmsKeyId"]
    own["adopt"] = True
    if tags := _further(ebs):
        own["tags"] = tags
    first = {key: settings[key] for key in ("name", "plugin", "zone")}
    rest = {key: value for key, value in settings.items() if key not in ("provision", "externalId")}
    return first | own | rest


def _tagging(volume: FoundVolume, ebs: Json, tag: str, tagged: Sequence[Json]) -> Tagging:
    has = read_tags(ebs)
    wanted = {"Name": volume.volume_id, MANAGED_TAG: MANAGED_TAG_VALUE, STACK_TAG: tag}
    guard = has.get(GUARD_TAG)
    # Of this command's own earlier run. Another stack's guard would go on taking the volume for its own.
    others = {read_tags(one).get(GUARD_TAG) for one in tagged if one["VolumeId"] != ebs["VolumeId"]}
    if guard and has.get(STACK_TAG) == tag and guard not in others:
        wanted[GUARD_TAG] = guard
    return Tagging(volume.volume_id, ebs["VolumeId"], has, wanted)


def _refused(volume: FoundVolume, ebs: Json, found: Found, tag: str, tagged: Sequence[Json]) -> Iterator[Gap]:
    """Yields why an EBS volume stays existing."""

    def gap(key: str, value: str, why: str, remedy: str) -> Gap:
        what = f"{why}, so that {ebs['VolumeId']} stays existing"
        return Gap(f"volume {volume.volume_id}", key, value, what, remedy, leaves_out=False)

    yield from _not_so(gap, ebs, tag)
    yield from _not_alone(gap, volume, str(ebs["VolumeId"]), found, tagged)


def _not_so(gap: Callable[[str, str, str, str], Gap], ebs: Json, tag: str) -> Iterator[Gap]:
    tags, volume_id = read_tags(ebs), ebs["VolumeId"]
    if ebs.get("MultiAttachEnabled"):
        why = "the program makes no volumes with multi-attach, and would turn it off"
        yield gap("multi_attach", "enabled", why, "nothing is to be done")
    if (owner := tags.get(STACK_TAG, tag)) != tag:
        untag = f"`aws ec2 delete-tags --resources {volume_id} --tags Key={STACK_TAG} Key={GUARD_TAG}`"
        remedy = f"if that stack is gone, take its tags off ({untag}), and run this again"
        yield gap(f"tag {STACK_TAG}", owner, "it is that stack's by its tags", remedy)
    for key in sorted(key for key in tags if key.startswith(_OWN_PREFIX) and key not in _OWN):
        why = "it is kept for something else by that tag (docs/volumes.md)"
        yield gap(f"tag {key}", tags[key], why, "take the tag off if that is over, and run this again")
    if ebs["State"] not in _USABLE:
        yield gap("state", ebs["State"], "EC2 is about to lose it, or has", "look at it in EC2")
    if ebs["VolumeType"] not in VOLUME_TYPES:
        yield gap("type", ebs["VolumeType"], "the settings do not know this type", "nothing is to be done")
    if len(_further(ebs)) > _MOST_TAGS:
        why = f"the settings take {_MOST_TAGS} tags besides the program's"
        yield gap("tags", f"{len(_further(ebs))} tags", why, "take some off, and run this again")


def _not_alone(
    gap: Callable[[str, str, str, str], Gap], volume: FoundVolume, volume_id: str, found: Found, tagged: Sequence[Json]
) -> Iterator[Gap]:
    ids = [one.volume_id for one in found.volumes if one.registration.external_id == volume_id]
    if len(ids) > 1:
        why = "Nomad counts the writers of each registration separately"
        yield gap("external_id", f"registered as {', '.join(ids)}", why, "leave one of them, and run this again")
    for one in tagged:
        if one["VolumeId"] != volume_id and read_tags(one).get("Name") == volume.volume_id and one["State"] in _USABLE:
            why = f"{one['VolumeId']} has this stack's tags and this name already"
            untag = f"`aws ec2 delete-tags --resources {one['VolumeId']} --tags Key={STACK_TAG}`"
            yield gap("name", volume.volume_id, why, f"take the tag off that one ({untag}), and run this again")


def _further(ebs: Json) -> dict[str, str]:
    """Returns the tags that are neither the program's nor AWS's."""
    return {
        key: value for key, value in read_tags(ebs).items() if key not in _OWN and not key.lower().startswith("aws:")
    }
