"""From settings to what every component takes that submits jobs, or registers volumes for them."""

from typing import TypeVar, cast

from nomad_stateful.components.consumer import RegisteredVolume
from nomad_stateful.components.csi_registration import RegisteredCsiVolume
from nomad_stateful.components.ownership import Owner
from nomad_stateful.components.placement import JobPlacement
from nomad_stateful.components.restart import JobRestart
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.settings import Consumer, Mysql, Settings
from nomad_stateful.program.settings.types import Section

T = TypeVar("T")


def same(shape: type[T], section: Section, prefix: str = "") -> T:
    """Returns an input whose keys the section has by the same names, or with a prefix before each."""
    return cast("T", {key: getattr(section, f"{prefix}{key}") for key in shape.__annotations__})


def placement(settings: Settings) -> JobPlacement:
    """Returns where the stack's jobs run."""
    return same(JobPlacement, settings.placement)


def restart(job: Consumer | Mysql) -> JobRestart:
    """Returns how often a job restarts on the same client."""
    return same(JobRestart, job, prefix="restart_")


def owner(environment: Environment) -> Owner | None:
    """Returns who owns what has an id in Nomad; None where nothing is claimed."""
    return {"stack": environment.claimant, "expects": dict(environment.expects)} if environment.claimant else None


def own_time(setting: str) -> str | None:
    """Returns how long a client on its own lets a job run; None for as long as it likes."""
    return None if setting == "never" else setting


def registered_volume(
    settings: Settings, environment: Environment, volume: str, registered: RegisteredCsiVolume
) -> RegisteredVolume:
    """Returns a registered volume of that name, or of that set, as its consumer needs to know it."""
    return {
        "name": volume,
        "earlier_name": settings.volume(volume).renamed_from,
        "volume_id": registered.volume_id,
        "registration_id": registered.registration_id,
        "restart_id": registered.restart_id,
        "external_id": registered.external_id,
        "backend": settings.plugin_of(settings.volume(volume)).known.backend,
        "region": environment.region,
        "account_id": environment.account_id,
        "aws_config": environment.aws_config,
    }
