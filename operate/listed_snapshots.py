"""The snapshots of the stack's EBS volumes, with the copies in other regions that its settings name."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.columns import columns
from nomad_stateful.ebs import tags
from nomad_stateful.ebs.attachment import is_ebs_volume
from nomad_stateful.ebs.ec2_client import AwsPlace, ec2_client
from nomad_stateful.ebs.filters import Filters, in_batches
from nomad_stateful.ebs.tags import SNAPSHOTS_TAG
from nomad_stateful.errors import ProviderError
from operate import stack
from operate.command import Command, reads_only
from operate.snapshots import check_account, ec2_errors

_OWN, _UNKNOWN = "own", "unknown"
_UNREACHABLE = "allow ec2:DescribeSnapshots there, and see whether the region is enabled for the account"


@dataclass(frozen=True)
class Listed:
    """One snapshot."""

    id: str
    volume: str
    stack: str
    """Whose it is: "own", another stack's PROJECT/STACK, or "unknown" where it has no stack's tag."""
    region: str
    size_gib: int
    state: str
    started: datetime
    description: str


def table(volume: str) -> str:
    """Returns the snapshots of a volume, which may be deleted, newest first, as a table.

    A region whose copies cannot be listed is named on standard error. Raises SnapshotError.
    """
    names = [volume] if volume else sorted(stack.outputs().get("volumes", {}))
    place = stack.aws_place()
    with ec2_errors():
        check_account(place)
        found = {one.id: one for filters in _filters(names) for one in _of(place, names, filters)}
    regions = _copy_regions(names)
    for region in regions:
        try:
            there = replace(place, region=region)
            found |= {one.id: one for filters in _scheduled(names) for one in _of(there, names, filters)}
        except (BotoCoreError, ClientError, ProviderError) as error:
            print(f"warning: copies in {region} are not listed: {error}. Remedy: {_UNREACHABLE}", file=sys.stderr)
    if not found:
        return f"no snapshots of {', '.join(names) or 'anything'}"
    return columns(_rows(sorted(found.values(), key=lambda one: one.started, reverse=True), with_region=bool(regions)))


def _rows(found: Sequence[Listed], *, with_region: bool) -> list[tuple[str, ...]]:
    head = ("SNAPSHOT", "VOLUME", "STACK", "REGION", "SIZE", "STATE", "STARTED", "DESCRIPTION")
    rows = [
        (
            *(one.id, one.volume, one.stack, one.region, f"{one.size_gib} GiB", one.state),
            *(f"{one.started:%Y-%m-%d %H:%M:%SZ}", one.description),
        )
        for one in found
    ]
    return [row if with_region else row[:3] + row[4:] for row in (head, *rows)]


def _filters(names: Sequence[str]) -> Iterator[Filters]:
    """Yields what a snapshot is found by: its volume's name, its schedule's tag, its volume, which has any name."""
    yield from in_batches("tag:Name", names)
    yield from _scheduled(names)
    yield from in_batches("volume-id", [one for name in names if is_ebs_volume(one := _external_id(name))])


def _scheduled(names: Sequence[str]) -> Iterator[Filters]:
    owned = stack.tag()
    values = {f"{owned}/{one}" for name in names for one in (name, _entry(name))}
    return in_batches(f"tag:{SNAPSHOTS_TAG}", sorted(values))


def _of(place: AwsPlace, names: Sequence[str], filters: Filters) -> Iterator[Listed]:
    known = stack.outputs().get("volumes") or {}
    by_id = {_external_id(name): name for name in known}
    entries = {_entry(name) for name in names}
    for page in ec2_client(place).get_paginator("describe_snapshots").paginate(OwnerIds=["self"], Filters=filters):
        for one in page["Snapshots"]:
            known_by = tags.read(one)
            named, scheduled = known_by.get("Name", ""), known_by.get(SNAPSHOTS_TAG, "").rpartition("/")[2]
            # A copy's volume id says nothing, and an existing volume may have any name.
            own = named if named in known or named in names else scheduled or named
            volume = by_id.get(one["VolumeId"]) or own
            if volume in names or volume in entries:
                of = stack.tag() if one["VolumeId"] in by_id else tags.stack_of(known_by)
                yield _listed(one, volume, _OWN if of == stack.tag() else of or _UNKNOWN, place.region)


def _listed(one: Mapping[str, Any], volume: str, of: str, region: str) -> Listed:
    size, text = int(one["VolumeSize"]), one.get("Description", "")
    return Listed(one["SnapshotId"], volume, of, region, size, one["State"], one["StartTime"], text)


def _copy_regions(names: Sequence[str]) -> list[str]:
    """Returns the regions that the settings name for copies of these volumes' snapshots."""
    entries = {_entry(name) for name in names}
    settings = [one for one in stack.config().get("nomad-stateful:volumes") or [] if one["name"] in entries]
    copies = [
        copy for one in settings for schedule in one.get("snapshots") or [] for copy in schedule.get("copies", [])
    ]
    return sorted({str(copy["region"]) for copy in copies})


def _entry(name: str) -> str:
    """Returns the name of the settings' entry that a volume, or one of a set, is of."""
    return name.partition("[")[0]


def _external_id(name: str) -> str:
    return str(((stack.outputs().get("volumes") or {}).get(name) or {}).get("id") or "")


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("volume", nargs="?", default="", help="the name of a volume, which may be deleted")


LIST = Command(
    "snapshots",
    "list the snapshots of the stack's volumes, or of one, with copies in other regions",
    lambda known: print(table(known.volume)),
    _arguments,
    reads_only,
)
