"""How healthy a CSI plugin is, by zone, from what Nomad knows of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ZoneOfNode = Callable[[str], str]  # Nomad node id -> zone, "" where it has none


@dataclass(frozen=True)
class Health:
    """A plugin's healthy instances; `zones` counts node plugins by zone, "" being nodes without one."""

    provider: str = ""
    provider_version: str = ""
    controllers: int = 0
    nodes: int = 0
    zones: Mapping[str, int] = field(default_factory=dict)
    topology_key: str = ""
    topology_keys: Sequence[str] = ()

    def missing(self, controllers: int, zones: Sequence[str]) -> list[str]:
        """What is not there yet, in words; empty when all is healthy. Without zones, one node plugin will do."""
        lacks = []
        if self.controllers < controllers:
            lacks.append(f"{self.controllers} of {controllers} controllers healthy")
        bare = [zone for zone in zones if not self.zones.get(zone)]
        if bare:
            lacks.append(f"no healthy node plugin in {', '.join(bare)}")
        elif not zones and not self.nodes:
            lacks.append("no healthy node plugin")
        return lacks

    def counts(self) -> str:
        """One line for people."""
        zones = ", ".join(f"{zone or 'no zone'}: {count}" for zone, count in sorted(self.zones.items())) or "none"
        return f"healthy controllers: {self.controllers}; healthy node plugins: {zones}"


def assess(plugin: Mapping[str, Any] | None, zone_keys: Sequence[str], zone_of_node: ZoneOfNode) -> Health:
    """Health from the body of /v1/plugin/csi/<id> (None: Nomad does not know the plugin)."""
    if plugin is None:
        return Health()
    nodes = {node_id: info for node_id, info in (plugin.get("Nodes") or {}).items() if info and info.get("Healthy")}
    controllers = [info for info in (plugin.get("Controllers") or {}).values() if info and info.get("Healthy")]
    segments = {node_id: _segments(info) for node_id, info in nodes.items()}
    zones: Counter[str] = Counter()
    for node_id, known in segments.items():
        key = next((key for key in zone_keys if known.get(key)), None)
        zones[known[key] if key else zone_of_node(node_id)] += 1
    return Health(
        provider=plugin.get("Provider") or "",
        provider_version=plugin.get("Version") or "",
        controllers=len(controllers),
        nodes=len(nodes),
        zones=dict(sorted(zones.items())),
        topology_key=_common_key(zone_keys, list(segments.values())),
        topology_keys=sorted({key for known in segments.values() for key in known}),
    )


def _segments(info: Mapping[str, Any]) -> Mapping[str, str]:
    """The topology segments a node plugin reports; where it reports none, null."""
    topology = (info.get("NodeInfo") or {}).get("AccessibleTopology") or {}
    segments: Mapping[str, str] = topology.get("Segments") or {}
    return segments


def _common_key(zone_keys: Sequence[str], segments: Sequence[Mapping[str, str]]) -> str:
    """The first zone key that every healthy node reports: the one a volume's topology can be asked in."""
    for key in zone_keys:
        if segments and all(known.get(key) for known in segments):
            return key
    return ""
