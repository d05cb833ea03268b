"""The IAM role by which Data Lifecycle Manager takes, copies and deletes the snapshots of a stack's volumes.

Narrowed from AWS's own policy for it (AWSDataLifecycleManagerServiceRole): snapshots of the stack's volumes only, and
nothing of instances, images, archives, fast restores, shares and events.
https://docs.aws.amazon.com/ebs/latest/userguide/dlm-service-roles.html
"""

from collections.abc import Collection
from typing import Any

from nomad_stateful.drivers.iam import Statement, allow, document

DESCRIBE_ACTIONS = (
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeInstances",
    "ec2:DescribeSnapshots",
    "ec2:DescribeVolumes",
)
KEY_ACTIONS = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)
GRANT_ACTIONS = ("kms:CreateGrant", "kms:ListGrants", "kms:RevokeGrant")


def trust(*, partition: str, region: str, account_id: str) -> dict[str, Any]:
    """Returns who may use the role: the service, for policies of this account and region."""
    condition = {
        "StringEquals": {"aws:SourceAccount": account_id},
        "ArnLike": {"aws:SourceArn": f"arn:{partition}:dlm:{region}:{account_id}:policy/*"},
    }
    principal = {"Service": "dlm.amazonaws.com"}
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole", "Condition": condition}
    return document([statement])


def policy(
    tag: str,
    owned: str,
    *,
    partition: str,
    region: str,
    account_id: str,
    copy_regions: Collection[str] = (),
    kms_keys: Collection[str] = (),
) -> dict[str, Any]:
    """Returns the policy document for volumes and snapshots whose ``tag`` starts with ``owned``.

    ``kms_keys`` are the keys of the volumes and of the copies: their ARNs, or those of aliases.
    """
    tagged = {"StringLike": {f"ec2:ResourceTag/{tag}": f"{owned}/*"}}
    here = f"arn:{partition}:ec2:{region}::snapshot/*"
    regions = sorted({region, *copy_regions})
    everywhere = [f"arn:{partition}:ec2:{one}::snapshot/*" for one in regions]
    volumes = f"arn:{partition}:ec2:{region}:{account_id}:volume/*"
    statements = [
        # EC2's Describe actions have no resource-level permissions.
        allow("Describe", list(DESCRIBE_ACTIONS), "*"),
        # EC2 asks about both: the volume, whose tag decides, and the snapshot, which has none yet.
        allow("SnapshotVolumes", ["ec2:CreateSnapshot"], volumes, tagged),
        allow("MakeSnapshots", ["ec2:CreateSnapshot"], here),
        # Whether the service tags as it makes a snapshot or afterwards is not documented.
        allow("TagSnapshots", ["ec2:CreateTags"], everywhere),
        allow("DeleteSnapshots", ["ec2:DeleteSnapshot"], everywhere, tagged),
    ]
    if copy_regions:
        statements.append(allow("CopySnapshots", ["ec2:CopySnapshot"], everywhere))
    return document([*statements, *_use_keys(sorted(set(kms_keys)), partition, regions)])


def _use_keys(keys: list[str], partition: str, regions: list[str]) -> list[Statement]:
    suffix = ".amazonaws.com.cn" if partition == "aws-cn" else ".amazonaws.com"
    through_ec2 = {"kms:ViaService": [f"ec2.{region}{suffix}" for region in regions]}
    named = [key for key in keys if ":alias/" not in key]
    statements = _key_statements("", named, {"StringEquals": through_ec2}) if named else []
    aliases = [key for key in keys if ":alias/" in key]
    if aliases:
        # An alias is no resource of a policy: https://docs.aws.amazon.com/kms/latest/developerguide/alias-authorization.html
        condition = {
            "StringEquals": through_ec2,
            "ForAnyValue:StringEquals": {"kms:ResourceAliases": [one.split(":", 5)[5] for one in aliases]},
        }
        places = sorted({f"{one.rsplit(':', 1)[0]}:key/*" for one in aliases})
        statements += _key_statements("ByAlias", places, condition)
    return statements


def _key_statements(suffix: str, keys: list[str], condition: dict[str, Any]) -> list[Statement]:
    granting = {**condition, "Bool": {"kms:GrantIsForAWSResource": "true"}}
    return [
        allow(f"UseKeys{suffix}", list(KEY_ACTIONS), keys, condition),
        allow(f"GrantKeys{suffix}", list(GRANT_ACTIONS), keys, granting),
    ]
