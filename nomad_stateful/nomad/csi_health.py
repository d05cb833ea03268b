"""The health of a CSI plugin, by zone."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ZoneOfNode = Callable[[str], str]  # Nomad node id -> zone, "" where it has none


@dataclass(frozen=True)
class Health:
    """A plugin's healthy instances; `zones` counts node plugins by zone, "" where a node has none."""

    provider: str = ""
    provider_version: str = ""
    controllers: int = 0
    nodes: int = 0
    zones: Mapping[str, int] = field(default_factory=dict)
    topology_key: str = ""
    topology_keys: Sequence[str] = ()

    def missing(self, controllers: int, zones: Sequence[str]) -> list[str]:
        """Returns what is missing; empty when all is healthy. Without zones, one node plugin is enough."""
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
        """Returns the numbers of healthy instances, on one line."""
        zones = ", ".join(f"{zone or 'no zone'}: {count}" for zone, count in sorted(self.zones.items())) or "none"
        return f"healthy controllers: {self.controllers}; healthy node plugins: {zones}"


def assess(plugin: Mapping[str, Any] | None, zone_keys: Sequence[str], zone_of_node: ZoneOfNode) -> Health:
    """Returns the health by the body of /v1/plugin/csi/<id> (None: Nomad does not know the plugin)."""
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
    """Returns the topology segments that a node plugin reports; Nomad has null where it reports none."""
    topology = (info.get("NodeInfo") or {}).get("AccessibleTopology") or {}
    segments: Mapping[str, str] = topology.get("Segments") or {}
    return segments


def _common_key(zone_keys: Sequence[str], segments: Sequence[Mapping[str, str]]) -> str:
    """Returns the first zone key that every healthy node reports, which a volume's topology request can use."""
    for key in zone_keys:
        if segments and all(known.get(key) for known in segments):
            return key
    return ""
