"""Snapshots of the stack's EBS volumes: taken, and listed with the copies in other regions that its settings name."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from nomad_stateful.columns import columns
from nomad_stateful.ebs import tags
from nomad_stateful.ebs.ec2_client import AwsPlace, refuse_another_account
from nomad_stateful.ebs.filters import Filters, in_batches
from nomad_stateful.ebs.snapshots import EbsSnapshots, Snapshot, newest
from nomad_stateful.ebs.tags import SNAPSHOTS_TAG, STACK_TAG
from nomad_stateful.ebs.volumes import EbsVolumes, is_ebs_volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.operate import stack
from nomad_stateful.operate.database import Database
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import (
    Checks,
    Command,
    Frame,
    add_change_options,
    at_least_0,
    framed,
    interruptible,
    reads_only,
)
from nomad_stateful.operate.ownership import database_cluster
from nomad_stateful.operate.progress import CONTEXT, say
from nomad_stateful.waiting import Progress

_OWN, _UNKNOWN = "own", "unknown"
_UNREACHABLE = "See whether the region is enabled for the account"


class SnapshotError(OperateError):
    """A snapshot could not be taken or listed."""


def take(frame: Frame, volume: str, description: str, *, quiesce: bool, timeout_s: float) -> str:
    """Takes a snapshot of a volume of the stack, waits until it is complete, and returns its id ("" of a dry run).

    Raises SnapshotError and ProviderError.
    """
    snapshots = Snapshots(volume)
    text = description or f"{volume} ({snapshots.volume_id})"
    result = {"ok": True, "volume": volume, "volumeId": snapshots.volume_id, "description": text}
    if frame.dry_run:
        snapshots.refuse_unpermitted()
    if not frame.agree("", f"==> taking {_KINDS[quiesce].format(volume)}", {**result, "dryRun": True}):
        return ""
    with _quiesced(volume) if quiesce else nullcontext(_not_held) as refuse_ended:
        snapshot_id = snapshots.begin(text, {})
        refuse_ended(snapshot_id)
    (say if frame.as_json else print)(f"{snapshot_id}  {volume}  {snapshots.volume_id}  {text}")
    sys.stdout.flush()
    goes_on = "EC2 goes on copying: `nomad-stateful snapshots` shows its state"
    with interruptible(lambda: f"{snapshot_id} is begun, and {goes_on}"):
        snapshots.await_complete(snapshot_id, timeout_s, f"{goes_on}; a larger --timeout waits longer")
    say(f"complete. To restore it, give a new volume in the stack's settings a new name with snapshotId: {snapshot_id}")
    frame.tell({**result, "snapshotId": snapshot_id})
    return snapshot_id


_KINDS = {
    False: "a crash-consistent snapshot of {}, as after a loss of power: journaling file systems and databases recover "
    "from it (--quiesce blocks the stack's database for that moment)",
    True: "a snapshot of {} with the database's writes blocked",
}


class Snapshots:
    """Snapshots of one volume of the stack."""

    def __init__(self, volume: str) -> None:
        """Raises SnapshotError where EC2 takes none of this volume, and ProviderError."""
        self.volume_id = _ebs_id(stack.outputs(), volume)
        place = stack.aws_place()
        refuse_another_account(place, f"volume {volume}")
        self._snapshots = EbsSnapshots(place)
        found = EbsVolumes(place).find(self.volume_id)
        if found is None:
            raise SnapshotError(f"EC2 has no volume {self.volume_id} any more, which volume {volume} is in the stack")
        # By these it is found when the volume is gone: the volume's, and whose it is.
        self._tags = {**tags.of_snapshot(found.tags), "Name": volume, STACK_TAG: stack.tag()}

    def refuse_unpermitted(self) -> None:
        """Raises ProviderError where EC2 says that it would take none."""
        self._snapshots.refuse_unpermitted(self.volume_id)

    def begin(self, description: str, mark: Mapping[str, str]) -> str:
        """Begins a snapshot with further tags and returns its id: from then on its contents are fixed."""
        return self._snapshots.begin(self.volume_id, description, {**self._tags, **mark})

    def await_complete(self, snapshot_id: str, timeout_s: float, remedy: str) -> None:
        """Waits until EC2 has copied the whole snapshot, which counts from then on. Raises ProviderError."""
        self._snapshots.await_complete(Progress(CONTEXT, timeout_s), snapshot_id, remedy)

    def drop(self, snapshot_id: str) -> None:
        """As drop() below."""
        drop(self._snapshots, snapshot_id)

    def newest(self, key: str) -> Snapshot | None:
        """Returns the volume's newest complete snapshot with a tag of that key, None if there is none."""
        return newest(one for one in self._snapshots.of_volumes([self.volume_id]) if key in one.tags)


def drop(snapshots: EbsSnapshots, snapshot_id: str) -> None:
    """Deletes a snapshot that nothing needs any more, or says that it is left."""
    try:
        snapshots.delete(snapshot_id)
    except ProviderError as error:
        say(f"    snapshot {snapshot_id} is left, and nothing needs it any more: {error}")


def _ebs_id(known: Mapping[str, Any], volume: str) -> str:
    volumes = known.get("volumes") or {}
    if volume not in volumes:
        raise SnapshotError(f"the stack has no volume {volume}: it has {', '.join(sorted(volumes)) or 'none'}")
    volume_id = str(volumes[volume]["id"])
    if not is_ebs_volume(volume_id):
        raise SnapshotError(
            f"volume {volume} is {volume_id}, which is not an EBS volume: take its snapshot in its own storage system"
        )
    return volume_id


def _not_held(_snapshot_id: str) -> None:
    """Of a snapshot for which nothing holds the writes."""


@contextmanager
def _quiesced(volume: str) -> Iterator[Callable[[str], None]]:
    """Blocks the database's writes: a snapshot's contents are fixed once EC2 has accepted it.

    Gives what raises SnapshotError where they were not blocked until this snapshot was begun.
    """
    server = stack.database_outputs()
    title, database = server.kind.title, Database.of(server)
    if server.volume != volume:
        raise SnapshotError(f"--quiesce: {title} is on volume {server.volume}, not on {volume}. Omit --quiesce")
    if not database.holds_writes:
        raise SnapshotError(f"--quiesce: {title} cannot block its writes, and recovers without. Omit --quiesce")
    at = database_cluster(server).endpoint(timeout_s=30)
    try:
        with database.read_only(at) as refuse_ended:

            def refuse(snapshot_id: str) -> None:
                try:
                    refuse_ended()
                except database.errors as error:
                    raise SnapshotError(
                        f"{snapshot_id} is begun, and the session that held {title}'s writes has ended ({error}): "
                        "writes may have gone on, and it is crash-consistent, as one without --quiesce. Run the same "
                        f"command again; to delete it: aws ec2 delete-snapshot --snapshot-id {snapshot_id}"
                    ) from error

            yield refuse
    except database.errors as error:
        raise SnapshotError(f"{title} at {at.host}:{at.port} did not block its writes: {error}") from error


def _take_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("volume", help="the volume's name in the stack")
    parser.add_argument("--description", default="", help="what the snapshot is for")
    parser.add_argument("--quiesce", action="store_true", help="block the database's writes while the snapshot starts")
    parser.add_argument("--timeout", type=at_least_0, default=3600, metavar="SECONDS", help="how long to wait for it")
    add_change_options(parser, yes="")


def _take(frame: Frame, known: Namespace) -> None:
    take(frame, known.volume, known.description, quiesce=known.quiesce, timeout_s=known.timeout)


_NO_TURN = "only adds a snapshot"

TAKE = framed(
    "snapshot",
    "take a snapshot of an EBS volume of the stack and print its id",
    _take,
    _take_arguments,
    checks=Checks(
        turn=_NO_TURN,
        pulumi=_NO_TURN,
        cluster="uses EC2 alone, whose account is checked; --quiesce checks the cluster of the database's volume",
    ),
    answered=lambda _: True,
)


@dataclass(frozen=True)
class Listed:
    """One snapshot, of a volume by its name."""

    snapshot: Snapshot
    volume: str
    stack: str
    """Whose it is: "own", another stack's PROJECT/STACK, or "unknown" where it has no stack's tag."""
    region: str


def listed_table(volume: str) -> str:
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


def _list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("volume", nargs="?", default="", help="the name of a volume, which may be deleted")


LIST = Command(
    "snapshots",
    "list the snapshots of the stack's volumes, or of one, with copies in other regions",
    lambda known: print(listed_table(known.volume)),
    _list_arguments,
    reads_only,
)
