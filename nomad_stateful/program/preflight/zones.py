"""The zones of the volumes: known to the region, and with a client that can use them."""

from collections.abc import Sequence

import pulumi

from nomad_stateful.program.plan.model import EbsVolume, Plan, Volume
from nomad_stateful.program.prefetch import Prefetch
from nomad_stateful.program.preflight import stack_state
from nomad_stateful.program.settings import Problem
from nomad_stateful.sdk import Cluster


def unknown(plan: Plan, known: Sequence[str], region: str) -> list[Problem]:
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
