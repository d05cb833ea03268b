"""A bucket for dumps that outlives the stack."""

import json
from typing import NotRequired, TypedDict

import pulumi
from pulumi_aws import s3

from nomad_stateful.components.component_type import Component

ABANDONED_AFTER_DAYS = 7
"""When the parts of an upload that did not come to its end are deleted."""


class ObjectLock(TypedDict):
    """For how long each new object is locked."""

    mode: str
    """GOVERNANCE or COMPLIANCE."""
    days: int
    """How many days."""


class DumpBucketArgs(TypedDict):
    """Inputs of DumpBucket."""

    region: str
    """Region of the bucket."""
    partition: str
    """Partition of its ARN, such as aws."""
    keep_days: int
    """How many days an object is kept, and then a version that was replaced or deleted."""
    kms_key_arn: NotRequired[pulumi.Input[str] | None]
    """KMS key that encrypts the objects; without it S3's own keys."""
    object_lock: NotRequired[ObjectLock | None]
    """Object Lock of what is put into it from then on; without it none. Nothing takes it off an object."""
    tls_only: NotRequired[bool]
    """Whether requests without TLS are refused; without it they are."""


class DumpBucket(Component):
    """A versioned, encrypted bucket without public access, for TLS only; no destroy deletes it."""

    bucket: pulumi.Output[str]
    """Name of the bucket."""

    def __init__(self, name: str, args: DumpBucketArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("DumpBucket", name, opts)
        self._name, self._region = name, args["region"]
        made = s3.Bucket(f"{name}-bucket", region=args["region"], opts=self._kept())
        versioning = self._versioning(made.id)
        ready = [
            versioning,
            self._encryption(made.id, args),
            s3.BucketPublicAccessBlock(
                f"{name}-public-access",
                bucket=made.id,
                block_public_acls=True,
                block_public_policy=True,
                ignore_public_acls=True,
                restrict_public_buckets=True,
                region=args["region"],
                opts=self._kept(),
            ),
            self._lifecycle(made.id, args["keep_days"]),
        ]
        if lock := args.get("object_lock"):
            ready.append(self._object_lock(made.id, lock, versioning))
        if args.get("tls_only", True):
            # S3 refuses two changes of a bucket's access at once.
            ready.append(self._tls_only(made.id, args["partition"], ready))
        # Whoever writes into it waits until it is as it should be.
        self.bucket = pulumi.Output.all(made.id, *[one.urn for one in ready]).apply(lambda known: str(known[0]))
        self.register_outputs({"bucket": self.bucket})

    def _kept(self, depends_on: list[pulumi.Resource] | None = None) -> pulumi.ResourceOptions:
        """Returns the options of what a destroy only forgets."""
        return pulumi.ResourceOptions(parent=self, retain_on_delete=True, depends_on=depends_on)

    def _versioning(self, bucket: pulumi.Input[str]) -> pulumi.Resource:
        return s3.BucketVersioning(
            f"{self._name}-versioning",
            bucket=bucket,
            versioning_configuration={"status": "Enabled"},
            region=self._region,
            opts=self._kept(),
        )

    def _object_lock(self, bucket: pulumi.Input[str], lock: ObjectLock, versioning: pulumi.Resource) -> pulumi.Resource:
        return s3.BucketObjectLockConfiguration(
            f"{self._name}-object-lock",
            bucket=bucket,
            rule={"default_retention": {"mode": lock["mode"], "days": lock["days"]}},
            region=self._region,
            opts=self._kept(depends_on=[versioning]),
        )

    def _encryption(self, bucket: pulumi.Input[str], args: DumpBucketArgs) -> pulumi.Resource:
        key = args.get("kms_key_arn")
        return s3.BucketServerSideEncryptionConfiguration(
            f"{self._name}-encryption",
            bucket=bucket,
            rules=[
                {
                    "apply_server_side_encryption_by_default": (
                        {"sse_algorithm": "aws:kms", "kms_master_key_id": key} if key else {"sse_algorithm": "AES256"}
                    ),
                    "bucket_key_enabled": bool(key),
                }
            ],
            region=self._region,
            opts=self._kept(),
        )

    def _lifecycle(self, bucket: pulumi.Input[str], days: int) -> pulumi.Resource:
        return s3.BucketLifecycleConfiguration(
            f"{self._name}-lifecycle",
            bucket=bucket,
            rules=[
                {
                    "id": "keep-dumps",
                    "status": "Enabled",
                    "filter": {"prefix": ""},
                    "expiration": {"days": days},
                    "noncurrent_version_expiration": {"noncurrent_days": days},
                    "abort_incomplete_multipart_upload": {"days_after_initiation": ABANDONED_AFTER_DAYS},
                }
            ],
            region=self._region,
            opts=self._kept(),
        )

    def _tls_only(
        self, bucket: pulumi.Output[str], partition: str, depends_on: list[pulumi.Resource]
    ) -> pulumi.Resource:
        return s3.BucketPolicy(
            f"{self._name}-tls-only",
            bucket=bucket,
            policy=bucket.apply(lambda name: json.dumps(tls_only(partition, name), sort_keys=True)),
            region=self._region,
            opts=self._kept(depends_on=list(depends_on)),
        )


def tls_only(partition: str, bucket: str) -> dict[str, object]:
    """Returns the bucket's policy, which refuses every request that is not encrypted."""
    arn = f"arn:{partition}:s3:::{bucket}"
    statement = {
        "Sid": "TlsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [arn, f"{arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return {"Version": "2012-10-17", "Statement": [statement]}
