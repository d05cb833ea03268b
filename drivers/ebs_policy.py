"""The IAM statements that aws-ebs-csi-driver needs to attach volumes that exist already."""

from typing import Any

from drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE

Statement = dict[str, Any]

DESCRIBE_ACTIONS = (
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeInstances",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeTags",
    "ec2:DescribeVolumes",
)
ATTACH_ACTIONS = ("ec2:AttachVolume", "ec2:DetachVolume")


def _describe() -> Statement:
    # EC2's Describe actions know no resource-level permissions.
    return {"Sid": "Describe", "Effect": "Allow", "Action": list(DESCRIBE_ACTIONS), "Resource": "*"}


def _attach_managed_volumes(arn_prefix: str) -> Statement:
    return {
        "Sid": "AttachManagedVolumes",
        "Effect": "Allow",
        "Action": list(ATTACH_ACTIONS),
        "Resource": f"{arn_prefix}:volume/*",
        "Condition": {"StringEquals": {f"ec2:ResourceTag/{MANAGED_TAG}": MANAGED_TAG_VALUE}},
    }


def _attach_to_instances(arn_prefix: str) -> Statement:
    return {
        "Sid": "AttachToInstances",
        "Effect": "Allow",
        "Action": list(ATTACH_ACTIONS),
        "Resource": f"{arn_prefix}:instance/*",
    }


def _use_keys(kms_key_arns: list[str]) -> list[Statement]:
    return [
        {
            "Sid": "UseVolumeKeys",
            "Effect": "Allow",
            "Action": ["kms:Decrypt", "kms:GenerateDataKeyWithoutPlaintext"],
            "Resource": kms_key_arns,
        },
        {
            "Sid": "GrantVolumeKeysToEc2",
            "Effect": "Allow",
            "Action": "kms:CreateGrant",
            "Resource": kms_key_arns,
            "Condition": {"Bool": {"kms:GrantIsForAWSResource": "true"}},
        },
    ]


def register_only_policy(*, partition: str, region: str, account_id: str, kms_key_arns: list[str]) -> dict[str, Any]:
    """A policy under which the driver attaches and detaches volumes that carry the managed tag, and no others."""
    arn_prefix = f"arn:{partition}:ec2:{region}:{account_id}"
    statements = [_describe(), _attach_managed_volumes(arn_prefix), _attach_to_instances(arn_prefix)]
    if kms_key_arns:
        statements += _use_keys(sorted(set(kms_key_arns)))
    return {"Version": "2012-10-17", "Statement": statements}
