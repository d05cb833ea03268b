"""The IAM policy of aws-efs-csi-driver, by what it is used for.

https://github.com/kubernetes-sigs/aws-efs-csi-driver/blob/master/docs/iam-policy-example.json
"""

from collections.abc import Collection
from enum import Enum
from typing import Any

from nomad_stateful.drivers.iam import allow, document

MANAGED_TAG = "efs.csi.aws.com/cluster"
MANAGED_TAG_VALUE = "true"


class Mode(Enum):
    """What the driver is used for."""

    STATIC = "static"
    """It mounts existing file systems and access points: a matter of the network, not of IAM."""
    DYNAMIC = "dynamic"
    """It makes and deletes an access point for each volume."""


def policy(modes: Collection[Mode], *, partition: str, region: str, account_id: str) -> dict[str, Any] | None:
    """Returns the policy document for these modes; None when they need no permission."""
    if Mode.DYNAMIC not in modes:
        return None
    prefix = f"arn:{partition}:elasticfilesystem:{region}:{account_id}"
    file_systems, access_points = f"{prefix}:file-system/*", f"{prefix}:access-point/*"
    made_managed = {f"aws:RequestTag/{MANAGED_TAG}": MANAGED_TAG_VALUE}
    statements = [
        # This action has no resource-level permissions.
        allow("DescribeZones", ["ec2:DescribeAvailabilityZones"], "*"),
        allow(
            "DescribeFileSystems",
            [
                "elasticfilesystem:DescribeAccessPoints",
                "elasticfilesystem:DescribeFileSystems",
                "elasticfilesystem:DescribeMountTargets",
            ],
            [file_systems, access_points],
        ),
        allow(
            "CreateManagedAccessPoints",
            ["elasticfilesystem:CreateAccessPoint"],
            file_systems,
            {"StringEquals": made_managed},
        ),
        allow(
            "TagNewAccessPoints",
            ["elasticfilesystem:TagResource"],
            access_points,
            {"StringEquals": {"elasticfilesystem:CreateAction": "CreateAccessPoint", **made_managed}},
        ),
        allow(
            "DeleteManagedAccessPoints",
            ["elasticfilesystem:DeleteAccessPoint"],
            access_points,
            {"StringEquals": {f"aws:ResourceTag/{MANAGED_TAG}": MANAGED_TAG_VALUE}},
        ),
    ]
    return document(statements)
