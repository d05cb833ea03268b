"""Topology: what a node reports, what a volume is bound to, and which zone a request asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

ZONE_KEY: Final = "topology.ebs.csi.aws.com/zone"
WELL_KNOWN_ZONE_KEY: Final = "topology.kubernetes.io/zone"
OS_KEY: Final = "kubernetes.io/os"

_ZONE_KEYS: Final = (WELL_KNOWN_ZONE_KEY, ZONE_KEY)


def node_segments(zone: str) -> dict[str, str]:
    """The segments a node in `zone` reports."""
    return {ZONE_KEY: zone, WELL_KNOWN_ZONE_KEY: zone, OS_KEY: "linux"}


def volume_segments(zone: str) -> dict[str, str]:
    """The segments a volume made in `zone` is reachable from."""
    return {WELL_KNOWN_ZONE_KEY: zone}


def zones_asked(segments: Sequence[Mapping[str, str]]) -> list[str]:
    """The zones that a list of topologies names, in its order; topologies without a zone key are passed over."""
    zones = []
    for segment in segments:
        zone = next((segment[key] for key in _ZONE_KEYS if segment.get(key)), "")
        if zone and zone not in zones:
            zones.append(zone)
    return zones


def pick_zone(preferred: Sequence[Mapping[str, str]], requisite: Sequence[Mapping[str, str]]) -> str:
    """The first preferred zone, else the first requisite one, else "" (any zone will do)."""
    asked = zones_asked([*preferred, *requisite])
    return asked[0] if asked else ""
