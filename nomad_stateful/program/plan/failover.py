"""From the settings of the failover watch to the inputs of its component."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomad_stateful.program.plan.inputs import THIS_STACK, placement
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.settings import Settings

if TYPE_CHECKING:
    from nomad_stateful.components.failover_watch import FailoverWatchArgs


def failover_watch(settings: Settings) -> FailoverWatchArgs | None:
    """Returns the watch over all EBS volumes; None where none is set."""
    failover = settings.failover
    if failover is None:
        return None
    watched = [member.volume_id for volume in settings.volumes_of("ebs") for member in volume.members]
    return {
        "job_id": failover.job_id,
        "placement": placement(settings),
        "owner": THIS_STACK,
        "volumes": [Later("volume_id", name, text=name) for name in watched],
        "region": Later("region"),
        "account_id": Later("account_id"),
        "count": failover.count,
        "fence": failover.fence,
        "task": {
            "image": settings.agent_image or "",
            "cpu_mhz": failover.cpu_mhz,
            "memory_mib": failover.memory_mib,
        },
        "timeout_s": failover.timeout_s,
    }
