"""Snapshots of EBS volumes on schedule, taken by AWS whether or not Nomad runs."""

import importlib.metadata
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_aws.dlm import (
    LifecyclePolicy,
    LifecyclePolicyPolicyDetailsArgs,
    LifecyclePolicyPolicyDetailsScheduleArgs,
    LifecyclePolicyPolicyDetailsScheduleCreateRuleArgs,
    LifecyclePolicyPolicyDetailsScheduleCrossRegionCopyRuleArgs,
    LifecyclePolicyPolicyDetailsScheduleCrossRegionCopyRuleRetainRuleArgs,
    LifecyclePolicyPolicyDetailsScheduleRetainRuleArgs,
)
from pulumi_aws.iam import Role, RolePolicy

from nomad_stateful.components.component_type import Component


class SnapshotCopies(TypedDict):
    """Copies of a schedule's snapshots in another region."""

    region: str
    """The region."""
    keep_days: int
    """How many days a copy is kept."""
    encrypted: NotRequired[bool]
    """Encrypt the copies; true by default. Those of an encrypted volume always are."""
    kms_key_arn: NotRequired[pulumi.Input[str] | None]
    """KMS key of that region; without it the account's default EBS key there is used."""


class SnapshotSchedule(TypedDict):
    """When snapshots are taken, and what is kept of them."""

    name: str
    """Name of the schedule, unique for the volume."""
    cron: str
    """When, in AWS's notation, such as cron(0 3 * * ? *)."""
    keep: NotRequired[int | None]
    """How many snapshots are kept; or keep_days."""
    keep_days: NotRequired[int | None]
    """How many days a snapshot is kept."""
    copies: NotRequired[list[SnapshotCopies]]
    """Copies in other regions."""
    tags: NotRequired[dict[str, pulumi.Input[str]]]
    """Further tags of the snapshots, which the volume does not have."""


class VolumeSnapshots(TypedDict):
    """The schedules of a volume, or of each volume of a set; all keep by number, or all by days."""

    name: str
    """Name of the volume or set."""
    tag_key: str
    """Key of the tag by which its volumes are known, which its snapshots get too."""
    tag_value: str
    """Its value."""
    schedules: list[SnapshotSchedule]
    """The schedules."""
    tags: NotRequired[dict[str, pulumi.Input[str]]]
    """All tags of its snapshots, but for each schedule's own; without it they get the volume's."""
    earlier_names: NotRequired[list[str]]
    """Names that the volume may have had."""


class TaggedVolume(TypedDict):
    """An EBS volume that does not have its tag from where it was made."""

    name: str
    """Name of the volume, unique in the stack."""
    volume_id: pulumi.Input[str]
    """Id of the EBS volume."""
    tag_key: str
    """Key of the tag by which it is known; what the tag was before is overwritten."""
    tag_value: str
    """Its value."""
    earlier_names: NotRequired[list[str]]
    """Names that the volume may have had."""


class SnapshotSchedulesArgs(TypedDict):
    """Inputs of SnapshotSchedules."""

    volumes: list[VolumeSnapshots]
    """The volumes with schedules."""
    tagged: NotRequired[list[TaggedVolume]]
    """Those of them that get their tag here: others made them. It is taken off when they leave this list."""
    trust: pulumi.Input[dict[str, Any]]
    """IAM policy document: who may use the role."""
    policy: pulumi.Input[dict[str, Any]]
    """IAM policy document: what the role may do."""
    path: NotRequired[str]
    """IAM path of the role, by which it can be told from others'; it counts when the role is made."""


class SnapshotSchedules(Component):
    """A policy of Data Lifecycle Manager for each volume, and their role; the snapshots are not part of any stack."""

    policy_ids: dict[str, pulumi.Output[str]]
    """Ids of the policies by volume name."""

    def __init__(self, name: str, args: SnapshotSchedulesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("SnapshotSchedules", name, opts)
        child = pulumi.ResourceOptions(parent=self)
        role = Role(
            f"{name}-role",
            description="What Data Lifecycle Manager needs for the snapshots of a stack's volumes",
            assume_role_policy=pulumi.Output.json_dumps(args["trust"], sort_keys=True),
            path=args.get("path"),
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=["path"]),
        )
        allowed = RolePolicy(
            f"{name}-policy",
            role=role.name,
            policy=pulumi.Output.json_dumps(args["policy"], sort_keys=True),
            opts=child,
        )
        self.policy_ids = {volume["name"]: self._policy(name, volume, role, allowed).id for volume in args["volumes"]}
        for volume in args.get("tagged", []):
            Ec2Tag(
                f"{name}-tag-of-{volume['name']}",
                resource_id=volume["volume_id"],
                key=volume["tag_key"],
                value=volume["tag_value"],
                opts=pulumi.ResourceOptions(parent=self, aliases=_aliases(f"{name}-tag-of", volume)),
            )
        self.register_outputs({"policy_ids": self.policy_ids})

    def _policy(self, name: str, volume: VolumeSnapshots, role: Role, allowed: RolePolicy) -> LifecyclePolicy:
        by_count = any(schedule.get("keep") for schedule in volume["schedules"])
        return LifecyclePolicy(
            f"{name}-of-{volume['name']}",
            description=f"Snapshots of volume {volume['name']} kept by {'number' if by_count else 'days'}",
            execution_role_arn=role.arn,
            policy_details=LifecyclePolicyPolicyDetailsArgs(
                resource_types=["VOLUME"],
                target_tags={volume["tag_key"]: volume["tag_value"]},
                schedules=[_schedule(one, volume.get("tags")) for one in volume["schedules"]],
            ),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[allowed],
                # AWS does not change a policy from one kind of retention to the other. What the old one took stays.
                replace_on_changes=["description"],
                delete_before_replace=True,
                aliases=_aliases(f"{name}-of", volume),
            ),
        )


def _aliases(prefix: str, volume: VolumeSnapshots | TaggedVolume) -> list[pulumi.Alias]:
    return [pulumi.Alias(name=f"{prefix}-{earlier}") for earlier in volume.get("earlier_names", [])]


def _schedule(
    schedule: SnapshotSchedule, tags: dict[str, pulumi.Input[str]] | None
) -> LifecyclePolicyPolicyDetailsScheduleArgs:
    keep, days = schedule.get("keep"), schedule.get("keep_days")
    added = {**(tags or {}), **schedule.get("tags", {})}
    return LifecyclePolicyPolicyDetailsScheduleArgs(
        name=schedule["name"],
        # In either case among them the one by which the role may delete the snapshot.
        copy_tags=tags is None,
        tags_to_add=added or None,
        create_rule=LifecyclePolicyPolicyDetailsScheduleCreateRuleArgs(cron_expression=schedule["cron"]),
        retain_rule=LifecyclePolicyPolicyDetailsScheduleRetainRuleArgs(count=keep)
        if keep
        else LifecyclePolicyPolicyDetailsScheduleRetainRuleArgs(interval=days, interval_unit="DAYS"),
        cross_region_copy_rules=[_copy(one) for one in schedule.get("copies", [])] or None,
    )


def _copy(copy: SnapshotCopies) -> LifecyclePolicyPolicyDetailsScheduleCrossRegionCopyRuleArgs:
    return LifecyclePolicyPolicyDetailsScheduleCrossRegionCopyRuleArgs(
        target=copy["region"],
        encrypted=copy.get("encrypted", True),
        cmk_arn=copy.get("kms_key_arn"),
        copy_tags=True,
        retain_rule=LifecyclePolicyPolicyDetailsScheduleCrossRegionCopyRuleRetainRuleArgs(
            interval=copy["keep_days"], interval_unit="DAYS"
        ),
    )


class Ec2Tag(pulumi.CustomResource):
    """One tag, given to an EBS volume that Pulumi did not make, and taken off again.

    It is pulumi_aws.ec2.Tag, without that package: loading its types takes every preview another second.
    """

    def __init__(
        self, name: str, *, resource_id: pulumi.Input[str], key: str, value: str, opts: pulumi.ResourceOptions
    ) -> None:
        # The same version as of the SDK's resources: a default provider is one for each version.
        own = pulumi.ResourceOptions(version=importlib.metadata.version("pulumi-aws"))
        props = {"resourceId": resource_id, "key": key, "value": value}
        super().__init__("aws:ec2/tag:Tag", name, props, pulumi.ResourceOptions.merge(opts, own))
