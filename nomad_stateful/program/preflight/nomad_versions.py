"""Versions of Nomad that do not keep data safe, on servers and on clients that may run the jobs."""

import pulumi

from nomad_stateful.nomad import versions
from nomad_stateful.program.preflight import placement
from nomad_stateful.program.settings import Problem, Settings
from nomad_stateful.sdk import Cluster, ClusterNode


def refused(settings: Settings, cluster: Cluster) -> list[Problem]:
    """Returns the versions that are refused; warns of versions with known faults that it goes on with."""
    agents = {
        "server": [(server.name, server.version) for server in cluster.servers],
        "client": [
            (node.name, node.version) for node in cluster.nodes if node.status != "down" and _may_run(settings, node)
        ],
    }
    for version in sorted({version for known in agents.values() for _, version in known}):
        _warn(version, [what for what, known in agents.items() if version in dict(known).values()])
    return [
        Problem(f"the version of Nomad {what} {', '.join(names)}", version, "; ".join(reasons), _remedy(version))
        for what, known in agents.items()
        for version in sorted({version for _, version in known})
        if (reasons := versions.refusals(version, is_client=what == "client"))
        for names in [sorted(name for name, one in known if one == version)]
    ]


def _warn(version: str, whose: list[str]) -> None:
    faults = [fault for what in whose for fault in versions.faults(version, is_client=what == "client")]
    if not faults:
        return
    names = ", ".join(dict.fromkeys(fault.cve or fault.issue for fault in faults))
    pulumi.warn(
        f"Nomad {version} ({' and '.join(whose)}) has faults that are fixed in newer versions: {names}. "
        f"`nomad-stateful doctor` says what each does. {_remedy(version).capitalize()}."
    )


def _remedy(version: str) -> str:
    return f"upgrade to {versions.advised(version)} or newer, the servers first"


def _may_run(settings: Settings, node: ClusterNode) -> bool:
    pools = {consumer.node_pool or settings.placement.node_pool for consumer in settings.consumers}
    pools.add(settings.placement.node_pool)
    return any(placement.may_run(pool, settings.placement.datacenters, node) for pool in pools)
