"""From settings to the permissions of the drivers."""

from typing import Any

from nomad_stateful.components.driver_policy import DriverPolicyArgs
from nomad_stateful.drivers import efs_policy
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.settings import Settings, driver_policy


def driver_policies(settings: Settings, environment: Environment) -> dict[str, DriverPolicyArgs]:
    """Returns the permissions by driver, no more than the volumes need, for resources of this account and region."""
    scope = {
        "partition": environment.partition,
        "region": environment.region,
        "account_id": environment.account_id,
    }
    found = {
        "ebs": driver_policy.of_ebs(settings.plugins, settings.volumes_of("ebs"), **scope),
        "efs": _efs_policy(settings, scope),
    }
    return {
        driver: {
            "role": settings.client_role,
            "description": f"What the {driver.upper()} CSI driver on the Nomad clients needs",
            "policy": policy,
            "path": environment.iam_path,
        }
        for driver, policy in found.items()
        if policy is not None
    }


def _efs_policy(settings: Settings, scope: dict[str, str]) -> dict[str, Any] | None:
    if all(plugin.existing for plugin in settings.plugins if plugin.driver == "efs"):
        return None
    dynamic = any(volume.provision == "plugin" for volume in settings.volumes_of("efs"))
    return efs_policy.policy({efs_policy.Mode.DYNAMIC} if dynamic else set(), **scope)
