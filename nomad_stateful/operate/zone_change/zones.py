"""Whether a volume can be used in a zone, and whether the zone is lost, by its clients."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from nomad_stateful.nomad.clients import Client
from nomad_stateful.operate.zone_change.situation import ZoneChangeError


def refuse_unusable(clients: Sequence[Client], zone: str, plugin_id: str) -> None:
    """Raises ZoneChangeError unless a client of the zone can take a volume."""
    usable = {one.zone for one in clients if one.takes_work and one.has_healthy_plugin(plugin_id)}
    if zone in usable:
        return
    zones = ", ".join(sorted(usable)) or "none"
    why = "; ".join(_lack(one) for one in clients if one.zone == zone) or "no Nomad client is there"
    raise ZoneChangeError(
        f"--zone {zone}: nothing there can use the volume, by plugin {plugin_id}: {why}. Start a client there, or name "
        f"another zone (those with such clients: {zones})"
    )


def _lack(client: Client) -> str:
    return f"{client.name} {'has no healthy node plugin' if client.takes_work else f'is {client.state}'}"


def lost_at(clients: Sequence[Client], zone: str) -> datetime:
    """Returns when Nomad last called a client of a lost zone down. Raises ZoneChangeError while one is there."""
    there = [one for one in clients if one.zone == zone]
    alive = [one.name for one in there if one.status == "ready"]
    if alive:
        raise ZoneChangeError(
            f"the zone {zone} is not lost: client {', '.join(alive)} there is ready. `nomad-stateful move` loses "
            "nothing; for a lost client in a zone that has others see docs/failover.md#by-hand"
        )
    since = max((one.status_since for one in there), default=0)
    return datetime.fromtimestamp(since, UTC) if since else datetime.now(UTC)
