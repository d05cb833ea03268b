"""The permissions of the drivers, and of what copies to buckets."""

from typing import Any

import pulumi

from nomad_stateful.components.driver_policy import DriverPolicyArgs
from nomad_stateful.drivers import dump_policy, efs_policy
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.plan import Bucket
from nomad_stateful.program.settings import Settings, driver_policy
from nomad_stateful.program.wiring.values import Values


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


def bucket_policy(settings: Settings, values: Values, bucket: Bucket) -> DriverPolicyArgs:
    """Returns what the clients may do with the dumps or logs in a bucket."""
    environment = values.environment

    def document(known: str) -> dict[str, Any]:
        return dump_policy.policy(
            known,
            bucket.prefix,
            partition=environment.partition,
            region=bucket.region or environment.region,
            kms_key_arn=bucket.kms_key_arn,
            replaced=bucket.replaced,
        )

    return {
        "role": settings.client_role,
        "description": f"What MySQL's {bucket.holds} to S3 on the Nomad clients need",
        "policy": pulumi.Output.from_input(values.into(bucket.bucket)).apply(document),
        "path": environment.iam_path,
    }
