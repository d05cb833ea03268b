"""Object Lock as S3 has it, where moto is kinder: what is locked stays so, and a bucket that locks stays versioned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from moto.s3.exceptions import AccessDeniedByLock, InvalidBucketState, MalformedXML
from moto.s3.models import S3Backend
from moto.s3.responses import S3Response

Original = Callable[..., Any]


def configure(_original: Original, backend: Any, bucket_name: str, *asked: Any) -> None:
    """PutObjectLockConfiguration: also of a bucket that has objects, for those that come; S3 takes it off none."""
    lock_enabled, mode, days, years = asked
    bucket = backend.get_bucket(bucket_name)
    if bucket.versioning_status != "Enabled":
        raise InvalidBucketState("Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration")
    if not lock_enabled or (mode and (mode not in ("GOVERNANCE", "COMPLIANCE") or bool(days) == bool(years))):
        raise MalformedXML
    bucket.object_lock_enabled = True
    bucket.default_lock_mode, bucket.default_lock_days, bucket.default_lock_years = mode, days or 0, years or 0


def put_bucket_versioning(original: Original, backend: Any, bucket_name: str, status: str) -> Any:
    """PutBucketVersioning: refused to end it while the bucket locks."""
    if status != "Enabled" and backend.get_bucket(bucket_name).object_lock_enabled:
        raise InvalidBucketState(
            "An Object Lock configuration is present on this bucket, so the versioning state cannot be changed."
        )
    return original(backend, bucket_name, status)


def put_object_retention(original: Original, request: Any) -> Any:
    """PutObjectRetention: a lock grows. GOVERNANCE yields to who may pass it by and says so, COMPLIANCE to nobody."""
    version = request._get_param("versionId")  # noqa: SLF001 - moto keeps the request to itself
    stored = request.backend.get_object(request.bucket_name, request.parse_key_name(), version_id=version)
    passes = request.headers.get("x-amz-bypass-governance-retention", "").lower() == "true"
    if stored is not None and stored.lock_until and stored.is_locked(governance_bypass=passes):
        mode, until = request._mode_until_from_body()  # noqa: SLF001
        if mode != stored.lock_mode or not until or _second(until) < _second(stored.lock_until):
            raise AccessDeniedByLock
    return original(request)


def complete_multipart_upload(original: Original, backend: Any, bucket_name: str, *args: Any, **kwargs: Any) -> Any:
    """CompleteMultipartUpload: what came in parts is locked as the bucket says, like the rest."""
    made, bucket = original(backend, bucket_name, *args, **kwargs), backend.get_bucket(bucket_name)
    if made is not None and bucket.has_default_lock:
        made.lock_mode, made.lock_until = bucket.default_lock_mode, bucket.default_retention()
    return made


def _second(moment: str) -> str:
    """The moment to its second: moto writes it with and without fractions."""
    return moment[:19]


HOOKS: Final = (
    (S3Backend, "put_object_lock_configuration", configure),
    (S3Backend, "put_bucket_versioning", put_bucket_versioning),
    (S3Backend, "complete_multipart_upload", complete_multipart_upload),
    (S3Response, "put_object_retention", put_object_retention),
)
"""Methods of moto's, and what is put around each."""
