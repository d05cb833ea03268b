"""What a Nomad cluster offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from nomad_stateful.schema.functions import GET_CLUSTER, NODE, SERVER


@dataclass(frozen=True)
class ClusterServer:
    """One Nomad server."""

    name: str
    version: str


@dataclass(frozen=True)
class ClusterNode:
    """One Nomad client; `zone` is "" where it has none, `drivers` are its healthy task drivers.

    CPU and memory are what it has for jobs.
    """

    id: str
    name: str
    version: str
    zone: str
    status: str
    eligibility: str
    datacenter: str
    node_pool: str
    drivers: tuple[str, ...]
    cpu_mhz: int
    memory_mib: int


@dataclass(frozen=True)
class Cluster:
    """What a Nomad cluster offers; `zones` are those that have a ready client."""

    version: str
    servers: tuple[ClusterServer, ...]
    nodes: tuple[ClusterNode, ...]
    zones: tuple[str, ...]

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Cluster:
        """Returns what the provider's function answers."""
        nodes = tuple(ClusterNode(**NODE.read(node)) for node in answer["nodes"])
        servers = tuple(ClusterServer(**SERVER.read(server)) for server in answer["servers"])
        return cls(**GET_CLUSTER.read(answer) | {"servers": servers, "nodes": nodes})


def get_cluster() -> Cluster:
    """Asks Nomad for its version, clients and zones; blocks until it answers."""
    return Cluster.of(pulumi.runtime.invoke(GET_CLUSTER.token, {}).value)
