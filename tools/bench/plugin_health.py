"""When Nomad's server knows of the driver what MySQL's volume needs, seen from outside: the same watch for everyone."""

from __future__ import annotations

import threading
import time
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadError
from tools.bench.rig import MYSQL_ZONE
from tools.bench.wanted import PLUGIN

_ZONE_SEGMENT = "topology.ebs.csi.aws.com/zone"
_POLL_S = 0.1


def plugin(nomad: NomadApi) -> dict[str, Any]:
    """The driver as Nomad's server has it; empty while there is none."""
    try:
        return dict(nomad.get(f"plugin/csi/{PLUGIN}"))
    except NomadError:
        return {}


def has_controller(found: dict[str, Any]) -> bool:
    """Whether a controller is healthy."""
    return bool(found.get("ControllersHealthy"))


def has_node_in_zone(found: dict[str, Any]) -> bool:
    """Whether a node plugin in MySQL's zone is healthy."""
    topologies = [
        ((node.get("NodeInfo") or {}).get("AccessibleTopology") or {}).get("Segments") or {}
        for node in (found.get("Nodes") or {}).values()
        if node.get("Healthy")
    ]
    return any(segments.get(_ZONE_SEGMENT) == MYSQL_ZONE for segments in topologies)


class HealthWatch:
    """Asks Nomad ten times a second, while it is entered, until MySQL could be placed."""

    def __init__(self, nomad: NomadApi) -> None:
        self._nomad = nomad
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.seen_at = 0.0
        """Seconds since the epoch; 0 while it could not."""

    def __enter__(self) -> HealthWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(_POLL_S):
            found = plugin(self._nomad)
            if has_controller(found) and has_node_in_zone(found):
                self.seen_at = time.time()
                return
