"""The inputs of components that take more than the plan's values: the account, and what was there before."""

from typing import Any

import pulumi

from nomad_stateful.components.csi_volumes import CsiVolumesArgs
from nomad_stateful.components.driver_policy import DriverPolicyArgs
from nomad_stateful.components.snapshot_schedules import SnapshotSchedulesArgs
from nomad_stateful.components.zonal_volumes import ZonalVolume, ZonalVolumesArgs
from nomad_stateful.drivers import dump_policy, snapshot_policy
from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.ebs.tags import SNAPSHOTS_TAG
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.plan.model import Bucket, EbsVolume, Plan, Schedules
from nomad_stateful.program.wiring.values import Values


def zonal_volumes(plan: Plan, values: Values) -> ZonalVolumesArgs:
    """Returns the EBS volumes that Pulumi makes, tagged so that the driver may attach them."""
    environment = values.environment
    return {
        "driver_tags": {MANAGED_TAG: MANAGED_TAG_VALUE},
        "volumes": [
            _zonal_volume(values.into(volume.storage), environment)
            for volume in plan.volumes
            if isinstance(volume, EbsVolume)
        ],
    }


def _zonal_volume(volume: ZonalVolume, environment: Environment) -> ZonalVolume:
    """Returns an EBS volume with what is adopted for it, and how far it has grown."""
    name, registration = volume["name"], volume.get("registration")
    if registration is not None:
        registration = {**registration, "earlier": environment.grown.get(name)}
    return {**volume, "adopt": environment.adopted.get(name), "registration": registration}


def csi_volumes(plan: Plan, values: Values) -> CsiVolumesArgs:
    """Returns the registrations of every volume; under another id that it may have had each is the same resource."""
    return {
        "volumes": [values.into(volume.registration) for volume in plan.volumes],
        "earlier_ids": {volume.id: volume.earlier_ids for volume in plan.volumes},
    }


def driver_policies(plan: Plan, environment: Environment) -> dict[str, DriverPolicyArgs]:
    """Returns the permissions by driver, no more than the volumes need, for resources of this account and region."""
    documents = {driver: policy.document(**_scope(environment)) for driver, policy in plan.policies.items()}
    return {
        driver: {
            "role": plan.client_role,
            "description": f"What the {driver.upper()} CSI driver on the Nomad clients needs",
            "policy": document,
            "path": environment.iam_path,
        }
        for driver, document in documents.items()
        if document is not None
    }


def bucket_policy(plan: Plan, bucket: Bucket, values: Values) -> DriverPolicyArgs:
    """Returns what the clients may do with the dumps or logs in a bucket."""
    environment, copies = values.environment, values.into(bucket.copies)

    def document(known: str) -> dict[str, Any]:
        return dump_policy.policy(
            known,
            copies["prefix"],
            partition=environment.partition,
            region=copies["region"],
            kms_key_arn=bucket.kms_key_arn,
            replaced=bucket.replaced,
        )

    return {
        "role": plan.client_role,
        "description": f"What {bucket.holds} to S3 on the Nomad clients need",
        "policy": pulumi.Output.from_input(copies["bucket"]).apply(document),
        "path": environment.iam_path,
    }


def snapshot_schedules(schedules: Schedules, values: Values) -> SnapshotSchedulesArgs:
    """Returns the schedules of all volumes, and the role that AWS takes the snapshots with."""
    environment = values.environment
    scope = _scope(environment)
    return {
        "volumes": schedules.volumes,
        "tagged": values.into(schedules.tagged),
        "path": environment.iam_path,
        "trust": snapshot_policy.trust(**scope),
        "policy": snapshot_policy.policy(
            SNAPSHOTS_TAG,
            environment.stack,
            copy_regions=schedules.copy_regions,
            kms_keys=schedules.kms_keys,
            **scope,
        ),
    }


def _scope(environment: Environment) -> dict[str, str]:
    return {
        "partition": environment.partition,
        "region": environment.region,
        "account_id": environment.account_id,
    }
