"""The IAM policy of aws-ebs-csi-driver, by what it is used for.

Narrowed from AWS's own policy for the driver (AmazonEBSCSIDriverPolicyV2): one account and region, and no statement for
what a stack does not use. Actions, resource types and condition keys:
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
"""

from collections.abc import Collection, Iterable
from enum import Enum
from typing import Any, Protocol

from nomad_stateful.drivers.ebs import DRIVER, MANAGED_TAG, MANAGED_TAG_VALUE, NAME_TAG, SNAPSHOT_NAME_TAG
from nomad_stateful.drivers.iam import Statement, allow, document
from nomad_stateful.drivers.model import Version, parse_version
from nomad_stateful.ebs.tags import STACK_TAG

VOLUME_STATUS_SINCE: Version = (1, 46, 0)
IOPS_DRY_RUN_SINCE: Version = (1, 50, 0)
CLONE_SINCE: Version = (1, 51, 0)
INSTANCE_TYPES_SINCE: Version = (1, 59, 0)

IOPS_DRY_RUN = "IopsLimitDryRun"
"""Name of the volume in the driver's dry run, by which it learns how many IOPS a type may have."""


class Mode(Enum):
    """What the driver is used for; attaching existing volumes is always part of it."""

    REGISTER = "register"
    DYNAMIC = "dynamic"
    """The driver makes and deletes volumes."""
    EXPAND = "expand"
    """The driver enlarges volumes and changes their type."""
    SNAPSHOT = "snapshot"
    """The driver takes and deletes snapshots, and with DYNAMIC restores volumes from them."""
    CLONE = "clone"
    """The driver copies volumes."""


class UsedVolume(Protocol):
    """What a volume's settings say about the permissions it needs."""

    @property
    def provision(self) -> str:
        """``plugin`` when the driver makes it."""

    @property
    def snapshot_id(self) -> str | None:
        """Snapshot it is restored from."""


DESCRIBE_ACTIONS: tuple[tuple[str, Mode, Version], ...] = (
    ("ec2:DescribeAvailabilityZones", Mode.REGISTER, (0, 0, 0)),
    ("ec2:DescribeInstances", Mode.REGISTER, (0, 0, 0)),
    # Attachment limits.
    ("ec2:DescribeInstanceTypes", Mode.REGISTER, INSTANCE_TYPES_SINCE),
    # Old versions of the driver.
    ("ec2:DescribeTags", Mode.REGISTER, (0, 0, 0)),
    ("ec2:DescribeVolumes", Mode.REGISTER, (0, 0, 0)),
    # Called before a file system grows, also where something else enlarged the volume.
    ("ec2:DescribeVolumesModifications", Mode.REGISTER, (0, 0, 0)),
    # Whether a volume made from a snapshot is ready.
    ("ec2:DescribeVolumeStatus", Mode.DYNAMIC, VOLUME_STATUS_SINCE),
    ("ec2:DescribeSnapshots", Mode.SNAPSHOT, (0, 0, 0)),
)
"""Action, the mode that calls it, and since which version of the driver."""

ON_MANAGED = {"StringEquals": {f"ec2:ResourceTag/{MANAGED_TAG}": MANAGED_TAG_VALUE}}
# A stack's volumes have the managed tag too, and so have their snapshots of earlier releases. A driver deletes what a
# driver made, which has a name by it.
MADE_BY_DRIVER = {
    **ON_MANAGED,
    "Null": {f"ec2:ResourceTag/{STACK_TAG}": "true", f"ec2:ResourceTag/{NAME_TAG}": "false"},
}
TAKEN_BY_DRIVER = {
    **ON_MANAGED,
    "Null": {f"ec2:ResourceTag/{STACK_TAG}": "true", f"ec2:ResourceTag/{SNAPSHOT_NAME_TAG}": "false"},
}
MADE_MANAGED = {"StringEquals": {f"aws:RequestTag/{MANAGED_TAG}": MANAGED_TAG_VALUE}}


def modes_for(volumes: Iterable[UsedVolume], *, snapshots: bool = False, clones: bool = False) -> frozenset[Mode]:
    """Returns the modes that a plugin's volumes need; ``snapshots``, ``clones``: also those on demand, through Nomad.

    Pulumi makes, enlarges and deletes its own volumes with its own credentials: the driver only attaches them.
    """
    made = [volume for volume in volumes if volume.provision == "plugin"]
    modes = {Mode.REGISTER}
    if made:
        modes |= {Mode.DYNAMIC, Mode.EXPAND}
    if snapshots or any(volume.snapshot_id for volume in made):
        modes.add(Mode.SNAPSHOT)
    if clones:
        modes |= {Mode.DYNAMIC, Mode.CLONE}
    return frozenset(modes)


def policy(
    modes: Collection[Mode],
    *,
    partition: str,
    region: str,
    account_id: str,
    kms_key_arns: Iterable[str] = (),
    version: str = DRIVER.default_version,
) -> dict[str, Any]:
    """Returns the policy document for these modes, on resources of this account and region with the driver's tag.

    It allows what this ``version`` of the driver calls, and nothing that only later ones call. With the ARNs of KMS
    keys, EC2 may use those keys, and no others, for the driver's volumes.
    """
    used, known = {*modes, Mode.REGISTER}, parse_version(version)
    if known < CLONE_SINCE:
        used.discard(Mode.CLONE)
    volumes = f"arn:{partition}:ec2:{region}:{account_id}:volume/*"
    instances = f"arn:{partition}:ec2:{region}:{account_id}:instance/*"
    # The ARN of a snapshot names no account.
    snapshots = f"arn:{partition}:ec2:{region}::snapshot/*"
    statements = [_describe(used, known), *_attach(volumes, instances)]
    if Mode.DYNAMIC in used:
        statements += _make_volumes(volumes, clones=Mode.CLONE in used)
        if known >= IOPS_DRY_RUN_SINCE:
            statements.append(_learn_iops(volumes))
    if Mode.CLONE in used:
        statements += _clone_volumes(volumes)
    if Mode.EXPAND in used:
        statements.append(allow("ModifyManagedVolumes", ["ec2:ModifyVolume"], volumes, ON_MANAGED))
    if Mode.SNAPSHOT in used:
        statements += _make_snapshots(volumes, snapshots)
    if {Mode.DYNAMIC, Mode.SNAPSHOT} <= used:
        statements.append(allow("RestoreManagedSnapshots", ["ec2:CreateVolume"], snapshots, ON_MANAGED))
    keys = sorted(set(kms_key_arns))
    if keys:
        statements += _use_keys(used, keys, _ec2_service(partition, region))
    return document(statements)


def _describe(modes: set[Mode], version: Version) -> Statement:
    actions = sorted(action for action, mode, since in DESCRIBE_ACTIONS if mode in modes and version >= since)
    # EC2's Describe actions have no resource-level permissions.
    return allow("Describe", actions, "*")


def _attach(volumes: str, instances: str) -> list[Statement]:
    actions = ["ec2:AttachVolume", "ec2:DetachVolume"]
    return [
        allow("AttachManagedVolumes", actions, volumes, ON_MANAGED),
        # Clients have no tag to rely on; the volume's tag decides.
        allow("AttachToInstances", actions, instances),
    ]


def _make_volumes(volumes: str, *, clones: bool) -> list[Statement]:
    return [
        allow("CreateManagedVolumes", ["ec2:CreateVolume"], volumes, MADE_MANAGED),
        _tag_on_creation("TagNewVolumes", volumes, *(["CreateVolume", "CopyVolumes"] if clones else ["CreateVolume"])),
        allow("DeleteManagedVolumes", ["ec2:DeleteVolume"], volumes, MADE_BY_DRIVER),
    ]


def _learn_iops(volumes: str) -> Statement:
    """Before it makes a volume the driver learns, by a dry run, how many IOPS the type may have.

    IAM cannot tell a dry run from a call; a volume made by this statement has no other tag, and cannot be attached.
    """
    condition = {
        "StringEquals": {f"aws:RequestTag/{NAME_TAG}": IOPS_DRY_RUN},
        "ForAllValues:StringEquals": {"aws:TagKeys": [NAME_TAG]},
    }
    return allow("LearnIopsLimits", ["ec2:CreateVolume"], volumes, condition)


def _clone_volumes(volumes: str) -> list[Statement]:
    # EC2 checks both: the volume that is copied, and the one that is made.
    return [
        allow("CopyManagedVolumes", ["ec2:CopyVolumes"], volumes, ON_MANAGED),
        allow("CreateManagedCopies", ["ec2:CopyVolumes"], volumes, MADE_MANAGED),
    ]


def _make_snapshots(volumes: str, snapshots: str) -> list[Statement]:
    # EC2 checks both: the volume that is read, and the snapshot that is made.
    return [
        allow("SnapshotManagedVolumes", ["ec2:CreateSnapshot"], volumes, ON_MANAGED),
        allow("CreateManagedSnapshots", ["ec2:CreateSnapshot"], snapshots, MADE_MANAGED),
        _tag_on_creation("TagNewSnapshots", snapshots, "CreateSnapshot"),
        allow("DeleteManagedSnapshots", ["ec2:DeleteSnapshot"], snapshots, TAKEN_BY_DRIVER),
    ]


def _tag_on_creation(sid: str, resource: str, *create_actions: str) -> Statement:
    # Without the condition the driver could tag any volume as its own, which would void every other condition.
    actions = create_actions[0] if len(create_actions) == 1 else list(create_actions)
    return allow(sid, ["ec2:CreateTags"], resource, {"StringEquals": {"ec2:CreateAction": actions}})


def _use_keys(modes: set[Mode], keys: list[str], service: str | list[str]) -> list[Statement]:
    """EC2 calls KMS with the driver's permissions: for a grant on attaching, for a data key on creating.

    https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption-requirements.html
    """
    actions = {"kms:Decrypt"}
    if Mode.DYNAMIC in modes:
        actions |= {"kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext"}
    if {Mode.DYNAMIC, Mode.SNAPSHOT} <= modes:
        # A volume may be restored under another key than its snapshot's.
        actions |= {"kms:ReEncryptFrom", "kms:ReEncryptTo"}
    through_ec2 = {"StringEquals": {"kms:ViaService": service}}
    return [
        allow("UseVolumeKeys", sorted(actions), keys, through_ec2),
        allow(
            "GrantVolumeKeysToEc2",
            ["kms:CreateGrant"],
            keys,
            {"Bool": {"kms:GrantIsForAWSResource": "true"}, **through_ec2},
        ),
    ]


def _ec2_service(partition: str, region: str) -> str | list[str]:
    name = f"ec2.{region}.amazonaws.com"
    return [name, f"{name}.cn"] if partition == "aws-cn" else name
