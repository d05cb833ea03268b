"""What every component takes that submits jobs: where, whose, how often restarted, and on which volume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomad_stateful.components.placement import JobConstraint, JobPlacement
from nomad_stateful.components.restart import JobRestart
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.settings import Consumer, DatabaseSection, Settings
from nomad_stateful.program.settings.placement import Constraint

if TYPE_CHECKING:
    from nomad_stateful.components.consumer import RegisteredVolume
    from nomad_stateful.components.ownership import Owner

THIS_STACK: Owner = {"stack": Later("claimant"), "expects": {}}
"""Who owns what has an id in Nomad; nobody where nothing is claimed."""


def placement(settings: Settings) -> JobPlacement:
    """Returns where the stack's jobs run."""
    given = settings.placement
    return {"namespace": given.namespace, "datacenters": given.datacenters, "node_pool": given.node_pool}


def constraint(given: Constraint) -> JobConstraint:
    """Returns a constraint of the settings."""
    return {"attribute": given.attribute, "operator": given.operator, "value": given.value}


def restart(job: Consumer | DatabaseSection) -> JobRestart:
    """Returns how often a job restarts on the same client."""
    return {"attempts": job.restart_attempts, "interval": job.restart_interval, "delay": job.restart_delay}


def own_time(setting: str) -> str | None:
    """Returns how long a client on its own lets a job run; None for as long as it likes."""
    return None if setting == "never" else setting


def registered_volume(settings: Settings, name: str, volume_id: str) -> RegisteredVolume:
    """Returns a volume of that name, or one of that set, as its consumer needs to know it."""
    volume = settings.volume(name)
    return {
        "name": name,
        "earlier_name": volume.renamed_from,
        "volume_id": Later("volume_id", volume_id, text=volume_id),
        "registration_id": Later("registration_id", volume_id),
        "restart_id": Later("restart_id", volume_id),
        "external_id": Later("external_id", volume_id),
        "backend": settings.plugin_of(volume).known.backend,
    }
