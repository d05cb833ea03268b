"""Rules between the jobs that use volumes and the volumes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nomad_stateful.program.settings.consumer import Consumer, Mount
from nomad_stateful.program.settings.database import DatabaseSection
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.volume import Volume

# Who may have a volume of each access mode at the same time, as Nomad claims it.
ONE_ALLOCATION = frozenset({"single-node-writer", "single-node-reader-only"})
READ_ONLY = frozenset({"single-node-reader-only", "multi-node-reader-only"})


@dataclass(frozen=True)
class Use:
    """One use of a volume by a job."""

    key: str
    job: str
    volume: str
    writes: bool


def check_consumer(consumer: Consumer, volumes: list[Volume]) -> None:
    """A consumer asks for nothing that Nomad cannot give it."""
    for index, mount in enumerate(consumer.mounts):
        key = f"consumers.{consumer.name}.mounts.{index}"
        volume = _found(key, mount.volume, volumes)
        _check_set(consumer, mount, volume, key)
        _check_mode(consumer, mount, volume, key)


def check_backup(section: DatabaseSection, volumes: list[Volume]) -> None:
    """The dumps have a volume of their own that files can be written to."""
    if section.backup is None:
        return
    key = f"{section.kind.name}.backup"
    volume = _found(key, section.backup.volume, volumes)
    if volume.name == section.volume:
        rule = "this is the volume of the data: whoever loses it would lose both"
        raise Refusal(f"{key}.volume", volume.name, rule, "give the dumps a volume of their own")
    if volume.count is not None or volume.access_mode in READ_ONLY or volume.attachment_mode != "file-system":
        remedy = "use a volume without count that is writable and has attachmentMode file-system"
        raise Refusal(f"{key}.volume", volume.name, "dumps are files that are written to a single volume", remedy)


def check_renamed(what: Literal["consumer", "volume"], entries: Sequence[Consumer] | Sequence[Volume]) -> None:
    """An entry takes the place of one that is configured no more, and no two take the same."""
    earlier = Counter(entry.renamed_from for entry in entries)
    names = {entry.name for entry in entries}
    for entry in entries:
        key = f"{what}s.{entry.name}.renamedFrom"
        if entry.renamed_from in names:
            rule = f"a {what} of this name is configured, so it was not renamed"
            raise Refusal(key, entry.renamed_from, rule, f"leave it out, or remove the {what} of that name")
        if entry.renamed_from is not None and earlier[entry.renamed_from] > 1:
            rule = f"{earlier[entry.renamed_from]} {what}s had this name"
            raise Refusal(key, entry.renamed_from, rule, "keep it on one of them")


def check_sharing(section: DatabaseSection | None, consumers: list[Consumer], volumes: list[Volume]) -> None:
    """A volume that one allocation may have, or one may write, is not used by two jobs."""
    uses = [
        Use(f"consumers.{consumer.name}.mounts.{index}.volume", consumer.name, mount.volume, not mount.read_only)
        for consumer in consumers
        for index, mount in enumerate(consumer.mounts)
    ]
    if section is not None:
        name, backup = section.kind.name, section.backup
        uses.insert(0, Use(f"{name}.volume", section.job_id, section.volume, writes=True))
        if backup is not None:
            uses.insert(1, Use(f"{name}.backup.volume", backup.job_id, backup.volume, writes=True))
    for volume in volumes:
        here = [use for use in uses if use.volume == volume.name]
        if volume.access_mode == "multi-node-single-writer":
            here = [use for use in here if use.writes]
        if len(here) > 1 and (volume.access_mode in ONE_ALLOCATION or volume.access_mode == "multi-node-single-writer"):
            rule = f"job {here[0].job} has this volume, and {volume.access_mode} does not allow a second"
            raise Refusal(here[1].key, volume.name, rule, "give it a volume of its own, or a volume that can be shared")


def _found(key: str, name: str, volumes: list[Volume]) -> Volume:
    for volume in volumes:
        if volume.name == name:
            return volume
    known = ", ".join(volume.name for volume in volumes)
    raise Refusal(f"{key}.volume", name, "there is no such volume", f"use one of {known}")


def _check_set(consumer: Consumer, mount: Mount, volume: Volume, key: str) -> None:
    if volume.count is None:
        if mount.per_alloc:
            remedy = f"set volumes.{volume.name}.count to {consumer.count}, or perAlloc to false"
            raise Refusal(f"{key}.perAlloc", "true", f"{volume.name} is a single volume", remedy)
        return
    if not mount.per_alloc:
        raise Refusal(f"{key}.volume", volume.name, "this is a set of volumes", "set perAlloc to true")
    if volume.count < consumer.count:
        rule = f"the set {volume.name} has {volume.count} volumes, one for each instance"
        remedy = f"use at most {volume.count}, or set volumes.{volume.name}.count to {consumer.count}"
        raise Refusal(f"consumers.{consumer.name}.count", consumer.count, rule, remedy)
    if consumer.canaries:
        rule = f"each volume of the set {volume.name} belongs to one instance, so none is left for a canary"
        raise Refusal(f"consumers.{consumer.name}.canaries", consumer.canaries, rule, "set it to 0")


def _check_mode(consumer: Consumer, mount: Mount, volume: Volume, key: str) -> None:
    mode = volume.access_mode
    if mode in READ_ONLY and not mount.read_only:
        raise Refusal(f"{key}.readOnly", "false", f"{volume.name} is {mode}", "set it to true")
    single = mode in ONE_ALLOCATION or (mode == "multi-node-single-writer" and not mount.read_only)
    if not single or mount.per_alloc:
        return
    if consumer.count > 1:
        rule = f"{volume.name} is {mode}, so a single instance can have it"
        remedy = "set it to 1, use a set of volumes with perAlloc, or a driver and access mode that share"
        raise Refusal(f"consumers.{consumer.name}.count", consumer.count, rule, remedy)
    if consumer.canaries:
        rule = f"{volume.name} is {mode}, so a second copy could never start"
        raise Refusal(f"consumers.{consumer.name}.canaries", consumer.canaries, rule, "set it to 0")
