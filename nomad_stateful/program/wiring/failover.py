"""From the settings of the failover watch to the inputs of its component."""

from nomad_stateful.components.csi_registration import RegisteredCsiVolume
from nomad_stateful.components.failover_watch import FailoverWatchArgs
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.settings import Settings
from nomad_stateful.program.wiring.jobs import owner, placement


def failover_watches(
    settings: Settings, environment: Environment, registered: dict[str, RegisteredCsiVolume]
) -> list[FailoverWatchArgs]:
    """Returns the watch over all EBS volumes; nothing where none is set."""
    failover = settings.failover
    if failover is None:
        return []
    watched = [member.volume_id for volume in settings.volumes_of("ebs") for member in volume.members]
    return [
        {
            "job_id": failover.job_id,
            "placement": placement(settings),
            "owner": owner(environment),
            "volumes": [registered[name].volume_id for name in watched],
            "region": environment.region,
            "account_id": environment.account_id,
            "count": failover.count,
            "fence": failover.fence,
            "task": {
                "image": settings.agent_image or "",
                "cpu_mhz": failover.cpu_mhz,
                "memory_mib": failover.memory_mib,
            },
            "timeout_s": failover.timeout_s,
        }
    ]
