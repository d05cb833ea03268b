"""The clients of a zone, as Nomad knows them: whether a volume can be used there, and whether the zone is lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.fingerprint import ZONE_ATTRIBUTE
from nomad_stateful.nomad.paths import plugin_path
from operate.zone_change.situation import ZoneChangeError


@dataclass(frozen=True)
class ZoneClient:
    """A client, and whether it can take a volume."""

    name: str
    zone: str
    status: str
    eligible: bool
    has_plugin: bool
    since: float
    """Unix time of its status."""

    @property
    def takes_volumes(self) -> bool:
        """Whether a job with a volume can start there."""
        return self.status == "ready" and self.eligible and self.has_plugin

    @property
    def lacks(self) -> str:
        """What keeps it from that."""
        if self.status != "ready":
            return f"{self.name} is {self.status}"
        return f"{self.name} is not eligible" if not self.eligible else f"{self.name} has no healthy node plugin"


def of(nomad: NomadApi, plugin_id: str) -> list[ZoneClient]:
    """Returns every client. Raises NomadError."""
    plugin: Mapping[str, Any] = nomad.find(plugin_path(plugin_id)) or {}
    healthy = {node_id for node_id, one in (plugin.get("Nodes") or {}).items() if (one or {}).get("Healthy")}
    return [_client(nomad.get(f"node/{stub['ID']}"), healthy) for stub in nomad.get("nodes") or []]


def _client(node: Mapping[str, Any], healthy: set[str]) -> ZoneClient:
    return ZoneClient(
        str(node["Name"]),
        str((node.get("Attributes") or {}).get(ZONE_ATTRIBUTE) or ""),
        str(node["Status"]),
        node.get("SchedulingEligibility") == "eligible",
        node["ID"] in healthy,
        float(node.get("StatusUpdatedAt") or 0),
    )


def refuse_unusable(clients: list[ZoneClient], zone: str, plugin_id: str) -> None:
    """Raises ZoneChangeError unless a client of the zone can take a volume."""
    there = [one for one in clients if one.zone == zone]
    if any(one.takes_volumes for one in there):
        return
    zones = ", ".join(sorted({one.zone for one in clients if one.takes_volumes})) or "none"
    why = "; ".join(one.lacks for one in there) or "no Nomad client is there"
    raise ZoneChangeError(
        f"--zone {zone}: nothing there can use the volume, by plugin {plugin_id}: {why}. Start a client there, or name "
        f"another zone (those with such clients: {zones})"
    )


def lost_at(clients: list[ZoneClient], zone: str) -> datetime:
    """Returns when Nomad last called a client of a lost zone down. Raises ZoneChangeError while one is there."""
    there = [one for one in clients if one.zone == zone]
    alive = [one.name for one in there if one.status == "ready"]
    if alive:
        raise ZoneChangeError(
            f"the zone {zone} is not lost: client {', '.join(alive)} there is ready. `operate move` loses nothing; "
            "for a lost client in a zone that has others see docs/runbook.md, Faster failover"
        )
    since = max((one.since for one in there), default=0)
    return datetime.fromtimestamp(since, UTC) if since else datetime.now(UTC)
