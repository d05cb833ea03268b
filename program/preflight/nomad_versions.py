"""Versions of Nomad that do not keep data safe, on servers and on clients that may run the jobs."""

import pulumi

from nomad_stateful.nomad import versions
from nomad_stateful.sdk import Cluster, ClusterNode
from program.preflight import placement
from program.settings import Problem, Settings


def refused(settings: Settings, cluster: Cluster) -> list[Problem]:
    """Returns the versions that are refused; warns of servers whose version has a fault that is survived."""
    servers = [(server.name, server.version) for server in cluster.servers]
    clients = [
        (node.name, node.version) for node in cluster.nodes if node.status != "down" and _may_run(settings, node)
    ]
    for version in sorted({version for _, version in servers}):
        for fault in versions.warnings(version):
            pulumi.warn(f"Nomad {version}: {fault}. Upgrade the servers to {versions.ADVISED} or newer.")
    remedy = f"upgrade to {versions.ADVISED} or newer, the servers first"
    return [
        Problem(f"the version of Nomad {what} {', '.join(names)}", version, "; ".join(reasons), remedy)
        for what, agents in (("server", servers), ("client", clients))
        for version in sorted({version for _, version in agents})
        if (reasons := versions.refusals(version, is_client=what == "client"))
        for names in [sorted(name for name, known in agents if known == version)]
    ]


def _may_run(settings: Settings, node: ClusterNode) -> bool:
    pools = {consumer.node_pool or settings.placement.node_pool for consumer in settings.consumers}
    pools.add(settings.placement.node_pool)
    return any(placement.may_run(pool, settings.placement.datacenters, node) for pool in pools)
