"""Versions of Nomad that do not keep data safe, and zones of volumes without a client that could use them."""

from collections.abc import Sequence

import pulumi

from nomad_stateful.nomad import versions
from nomad_stateful.program.plan.model import EbsVolume, Plan, Volume
from nomad_stateful.program.prefetch import Prefetch
from nomad_stateful.program.preflight import placement, stack_state
from nomad_stateful.program.settings import Problem, Settings
from nomad_stateful.sdk import Cluster, ClusterNode


def refused_versions(settings: Settings, cluster: Cluster) -> list[Problem]:
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


def unknown_zones(plan: Plan, known: Sequence[str], region: str) -> list[Problem]:
    """Returns the zones that the region does not have."""
    return [
        Problem(
            f"{key}.zone",
            zone,
            f"the region {region} has no such zone",
            f"use one of {', '.join(known)}",
        )
        for key, zone in dict.fromkeys((volume.key, volume.zone) for volume in plan.volumes)
        if zone and zone not in known
    ]


def without_client(plan: Plan, cluster: Cluster, prefetch: Prefetch) -> list[Problem]:
    """Returns the zones in which nothing could use a new volume; warns of those that a volume exists in."""
    volumes = [volume for volume in plan.volumes if volume.zone]
    zones = {node.zone for node in cluster.nodes if node.zone}
    lonely = [volume for volume in volumes if volume.zone not in zones]
    existing = stack_state.volume_zones(prefetch) if lonely else {}
    stay = [one for one in lonely if one.zone in {existing.get(volume_id) for volume_id in (one.id, *one.earlier_ids)}]
    rule = f"no Nomad client is in this zone (clients are in: {', '.join(sorted(zones)) or 'none'})"
    for volume in stay:
        pulumi.warn(f"volumes.{volume.id}.zone is {volume.zone}: {rule}. {_stays(volume)}.")
    for volume in volumes:
        if volume.zone in zones and volume.zone not in cluster.zones:
            now = "no Nomad client of this zone is ready just now"
            pulumi.warn(f"volumes.{volume.id}.zone is {volume.zone}: {now}. {_stays(volume)}.")
    remedy = "start a client there, or put the volume where a client is"
    return [Problem(f"volumes.{volume.id}.zone", volume.zone, rule, remedy) for volume in lonely if volume not in stay]


def _stays(volume: Volume) -> str:
    there = (
        "A volume that exists stays there with its data, and nothing can use it until a client is there: start one in "
        f"{volume.zone}. To have the data in another zone"
    )
    if isinstance(volume, EbsVolume) and volume.id == volume.name:
        return f"{there}: `nomad-stateful failover {volume.id} --zone ZONE`"
    return (
        f"{there}, take a snapshot (`nomad-stateful snapshot '{volume.id}'`) and give a volume of a new name "
        "snapshotId: that snapshot's id"
    )
