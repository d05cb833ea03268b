"""The snapshots of the stack's EBS volumes, with the copies in other regions that its settings name."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nomad_stateful.columns import columns
from nomad_stateful.ebs.ec2_client import AwsPlace, refuse_another_account
from nomad_stateful.ebs.filters import Filters, in_batches
from nomad_stateful.ebs.snapshots import EbsSnapshots, Snapshot
from nomad_stateful.ebs.tags import SNAPSHOTS_TAG
from nomad_stateful.ebs.volumes import is_ebs_volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.operate import stack
from nomad_stateful.operate.command import Command, reads_only

_OWN, _UNKNOWN = "own", "unknown"
_UNREACHABLE = "See whether the region is enabled for the account"


@dataclass(frozen=True)
class Listed:
    """One snapshot, of a volume by its name."""

    snapshot: Snapshot
    volume: str
    stack: str
    """Whose it is: "own", another stack's PROJECT/STACK, or "unknown" where it has no stack's tag."""
    region: str


def table(volume: str) -> str:
    """Returns the snapshots of a volume, which may be deleted, newest first, as a table.

    A region whose copies cannot be listed is named on standard error. Raises ProviderError.
    """
    names = [volume] if volume else sorted(stack.outputs().get("volumes", {}))
    place = stack.aws_place()
    refuse_another_account(place, f"stack {stack.tag()}")
    found = {one.snapshot.id: one for one in _of(place, names, _filters(names))}
    regions = _copy_regions(names)
    for region in regions:
        try:
            there = replace(place, region=region)
            found |= {one.snapshot.id: one for one in _of(there, names, _scheduled(names))}
        except ProviderError as error:
            print(f"warning: copies in {region} are not listed: {error}. {_UNREACHABLE}", file=sys.stderr)
    if not found:
        return f"no snapshots of {', '.join(names) or 'anything'}"
    newest_first = sorted(found.values(), key=lambda one: one.snapshot.started, reverse=True)
    return columns(_rows(newest_first, with_region=bool(regions)))


def _rows(found: Sequence[Listed], *, with_region: bool) -> list[tuple[str, ...]]:
    head = ("SNAPSHOT", "VOLUME", "STACK", "REGION", "SIZE", "STATE", "STARTED", "DESCRIPTION")
    rows = [
        (
            *(one.snapshot.id, one.volume, one.stack, one.region, f"{one.snapshot.size_gib} GiB", one.snapshot.state),
            *(f"{one.snapshot.started:%Y-%m-%d %H:%M:%SZ}", one.snapshot.description),
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


def _of(place: AwsPlace, names: Sequence[str], calls: Iterable[Filters]) -> Iterator[Listed]:
    known = stack.outputs().get("volumes") or {}
    by_id = {_external_id(name): name for name in known}
    entries = {_entry(name) for name in names}
    for one in EbsSnapshots(place).matching(calls):
        named, scheduled = one.tags.get("Name", ""), one.tags.get(SNAPSHOTS_TAG, "").rpartition("/")[2]
        # A copy's volume id says nothing, and an existing volume may have any name.
        own = named if named in known or named in names else scheduled or named
        volume = by_id.get(one.volume_id) or own
        if volume in names or volume in entries:
            of = stack.tag() if one.volume_id in by_id else one.stack
            yield Listed(one, volume, _OWN if of == stack.tag() else of or _UNKNOWN, place.region)


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
