"""What the clients may do with a database's dumps or logs in S3: write new ones, read, list, and delete nothing.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3.html
"""

from typing import Any

from nomad_stateful.drivers.iam import Statement, allow, document

# Parts of an upload make no object yet. https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes-enforce.html
_NEW = {"Null": {"s3:if-none-match": "false"}}
_PARTS = {"Bool": {"s3:ObjectCreationOperation": "false"}}
_SEEN = {"Null": {"s3:if-match": "false"}}


def policy(
    bucket: str,
    prefix: str,
    *,
    partition: str,
    region: str,
    kms_key_arn: str | None = None,
    replaced: str | None = None,
) -> dict[str, Any]:
    """Returns the policy document; ``region`` is the bucket's, ``replaced`` under the prefix may be written over."""
    arn = f"arn:{partition}:s3:::{bucket}"
    objects = f"{arn}/{prefix}*"
    statements = [
        # By which a restore finds the latest, and which tells an object that is missing from a refusal.
        allow("ListDumps", ["s3:ListBucket"], arn, {"StringLike": {"s3:prefix": f"{prefix}*"}}),
        *_write(objects),
        *([allow("ReplaceWhatWasSeen", ["s3:PutObject"], f"{arn}/{prefix}{replaced}", _SEEN)] if replaced else []),
        # Each dump is read again after its upload.
        allow("ReadDumps", ["s3:GetObject"], objects),
    ]
    if kms_key_arn:
        suffix = ".amazonaws.com.cn" if partition == "aws-cn" else ".amazonaws.com"
        through_s3 = {"StringEquals": {"kms:ViaService": f"s3.{region}{suffix}"}}
        # A multipart upload needs Decrypt too.
        statements.append(allow("UseDumpKey", ["kms:GenerateDataKey", "kms:Decrypt"], kms_key_arn, through_s3))
    return document(statements)


def _write(objects: str) -> list[Statement]:
    return [
        allow("WriteNewDumps", ["s3:PutObject"], objects, _NEW),
        allow("WriteParts", ["s3:PutObject"], objects, _PARTS),
        allow("AbortUploads", ["s3:AbortMultipartUpload"], objects),
    ]
