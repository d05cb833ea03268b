"""The zones of the volumes: known to the region, and with a client that can use them."""

from collections.abc import Sequence

import pulumi

from nomad_stateful.program.prefetch import Prefetch
from nomad_stateful.program.preflight import stack_state
from nomad_stateful.program.settings import Problem, Settings, Volume
from nomad_stateful.program.settings.volume import Member
from nomad_stateful.sdk import Cluster


def unknown(settings: Settings, known: Sequence[str], region: str) -> list[Problem]:
    """Returns the zones that the region does not have."""
    return [
        Problem(
            f"volumes.{volume.name}.zone",
            zone,
            f"the region {region} has no such zone",
            f"use one of {', '.join(known)}",
        )
        for volume in settings.volumes
        for zone in dict.fromkeys(member.zone for member in volume.members)
        if zone and zone not in known
    ]


def without_client(settings: Settings, cluster: Cluster, prefetch: Prefetch) -> list[Problem]:
    """Returns the zones in which nothing could use a new volume; warns of those that a volume exists in."""
    wanted = [(volume, member) for volume in settings.volumes for member in volume.members if member.zone]
    members = [member for _, member in wanted]
    zones = {node.zone for node in cluster.nodes if node.zone}
    lonely = [member for member in members if member.zone not in zones]
    existing = stack_state.volume_zones(prefetch) if lonely else {}
    ids = {member: [member.volume_id, *volume.earlier_ids(member.volume_id)] for volume, member in wanted}
    stays = {member: _stays(volume, member) for volume, member in wanted}
    stay = [member for member in lonely if member.zone in {existing.get(one) for one in ids[member]}]
    rule = f"no Nomad client is in this zone (clients are in: {', '.join(sorted(zones)) or 'none'})"
    for member in stay:
        pulumi.warn(f"volumes.{member.volume_id}.zone is {member.zone}: {rule}. {stays[member]}.")
    for member in members:
        if member.zone in zones and member.zone not in cluster.zones:
            now = "no Nomad client of this zone is ready just now"
            pulumi.warn(f"volumes.{member.volume_id}.zone is {member.zone}: {now}. {stays[member]}.")
    remedy = "start a client there, or put the volume where a client is"
    return [
        Problem(f"volumes.{member.volume_id}.zone", member.zone, rule, remedy)
        for member in lonely
        if member not in stay
    ]


def _stays(volume: Volume, member: Member) -> str:
    there = (
        "A volume that exists stays there with its data, and nothing can use it until a client is there: start one in "
        f"{member.zone}. To have the data in another zone"
    )
    if volume.provision == "pulumi" and volume.count is None:
        return f"{there}: `nomad-stateful failover {member.volume_id} --zone ZONE`"
    return (
        f"{there}, take a snapshot (`nomad-stateful snapshot '{member.volume_id}'`) and give a volume of a new name "
        "snapshotId: that snapshot's id"
    )
