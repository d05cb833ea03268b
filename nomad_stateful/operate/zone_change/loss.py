"""Whether a zone can be used or is lost, and what a failover loses: by which snapshot, and how old that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.snapshots import Snapshot
from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client
from nomad_stateful.operate.zone_change.copies import Copies
from nomad_stateful.operate.zone_change.situation import Stored, ZoneChangeError

_SHOWN = "%Y-%m-%d %H:%M:%S UTC"


@dataclass(frozen=True)
class Loss:
    """The snapshot, and what was written since."""

    snapshot: str
    taken: str
    minutes: float


def expected(copies: Copies, known: Stored, lost_at: datetime, wanted: str, limit_min: float | None) -> Loss:
    """Returns what is lost by a snapshot, "" for the newest. Raises ZoneChangeError without one, and beyond a limit."""
    found = copies.chosen(wanted) if wanted else copies.newest()
    if found is None:
        raise ZoneChangeError(
            f"EBS volume {known.volume_id} has no complete snapshot, so it cannot be restored in another zone. "
            "Restore a dump: docs/disaster-recovery.md, A zone is lost"
        )
    minutes = max(0.0, (lost_at - found.taken).total_seconds() / 60)
    if limit_min is not None and minutes > limit_min:
        raise ZoneChangeError(
            f"--max-loss is {limit_min:g}: snapshot {found.id} was taken {minutes:.1f} minutes before the "
            "zone was lost, and is the newest. Accept that, or restore something newer: "
            "docs/disaster-recovery.md"
        )
    return _loss(found, minutes)


def of_begun(place: AwsPlace, name: str, known: Stored, wanted: str) -> Loss | None:
    """Returns what was lost when the volume was given up; it has its new zone already. Raises ZoneChangeError.

    None where nothing says it: what it was made from, or the volume that was given up, may be deleted since.
    """
    if not known.snapshot_id:
        return None
    if wanted not in ("", known.snapshot_id):
        raise ZoneChangeError(
            f"--snapshot is {wanted}: the volume is made from {known.snapshot_id} by the `up` that was begun. Leave "
            "--snapshot out"
        )
    found = Copies(place, known.volume_id, name, known.snapshot_id).origin()
    given_up = Copies(place, found.source, name).given_up() if found else None
    if found is None or given_up is None:
        return None
    return _loss(found, (given_up - found.taken).total_seconds() / 60)


def _loss(snapshot: Snapshot, minutes: float) -> Loss:
    return Loss(snapshot.id, f"{snapshot.taken:{_SHOWN}}", minutes)


def refuse_unusable(there: Sequence[Client], zone: str, plugin_id: str) -> None:
    """Raises ZoneChangeError unless a client of the zone can take a volume."""
    usable = {one.zone for one in there if one.takes_work and one.has_healthy_plugin(plugin_id)}
    if zone in usable:
        return
    zones = ", ".join(sorted(usable)) or "none"
    why = "; ".join(_lack(one) for one in there if one.zone == zone) or "no Nomad client is there"
    raise ZoneChangeError(
        f"--zone {zone}: nothing there can use the volume, by plugin {plugin_id}: {why}. Start a client there, or name "
        f"another zone (those with such clients: {zones})"
    )


def _lack(client: Client) -> str:
    return f"{client.name} {'has no healthy node plugin' if client.takes_work else f'is {client.state}'}"


def lost_at(known: Sequence[Client], zone: str) -> datetime:
    """Returns when Nomad last called a client of a lost zone down. Raises ZoneChangeError while one is there."""
    there = [one for one in known if one.zone == zone]
    alive = [one.name for one in there if one.status == "ready"]
    if alive:
        raise ZoneChangeError(
            f"the zone {zone} is not lost: client {', '.join(alive)} there is ready. `nomad-stateful move` loses "
            "nothing; for a lost client in a zone that has others see docs/failover.md#by-hand"
        )
    since = max((one.status_since for one in there), default=0)
    return datetime.fromtimestamp(since, UTC) if since else datetime.now(UTC)


def refuse_back(nomad: NomadApi, known: Stored, zone: str) -> None:
    """Raises ZoneChangeError where the lost zone has a ready client by now: a question, an `up` or a lock take minutes.

    Not where the volume is in the new zone by the state already.
    """
    if known.zone != zone:
        lost_at(clients.read(nomad), known.zone)
