"""Object Lock in the sandbox's S3: what is locked stays, whoever asks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.cloud import moto_hooks, object_lock
from tests.providers.moto_account import clients, empty_account, moto

BUCKET = "dumps"


@pytest.fixture(scope="module")
def account() -> Iterator[Any]:
    with moto() as url:
        yield clients(url).s3


@pytest.fixture
def s3(account: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """With a versioned bucket that holds a dump already."""
    for owner, name, _ in object_lock.HOOKS:
        # Taken back at the end of the test.
        monkeypatch.setattr(owner, name, getattr(owner, name))
    moto_hooks.install_object_lock()
    empty_account()
    account.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    account.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    account.put_object(Bucket=BUCKET, Key="before", Body=b"x")
    return account


def lock(s3: Any, mode: str = "COMPLIANCE") -> None:
    rule = {"DefaultRetention": {"Mode": mode, "Days": 7}}
    configuration = {"ObjectLockEnabled": "Enabled", "Rule": rule}
    s3.put_object_lock_configuration(Bucket=BUCKET, ObjectLockConfiguration=configuration)


def refused(call: Any, **args: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(Bucket=BUCKET, **args)
    return str(caught.value.response["Error"]["Code"])


def until(days: float) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


def test_a_bucket_with_objects_locks_those_that_come(s3: Any) -> None:
    (earlier,) = s3.list_object_versions(Bucket=BUCKET)["Versions"]
    lock(s3)
    made = s3.put_object(Bucket=BUCKET, Key="after", Body=b"x")
    assert refused(s3.delete_object, Key="after", VersionId=made["VersionId"]) == "AccessDenied"
    s3.delete_object(Bucket=BUCKET, Key="before", VersionId=earlier["VersionId"])
    # Without a version S3 hides it, and keeps it.
    s3.delete_object(Bucket=BUCKET, Key="after")
    assert [one["Key"] for one in s3.list_object_versions(Bucket=BUCKET)["Versions"]] == ["after"]


def test_what_came_in_parts_is_locked_too(s3: Any) -> None:
    lock(s3)
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key="large")["UploadId"]
    part = s3.upload_part(Bucket=BUCKET, Key="large", UploadId=upload, PartNumber=1, Body=b"x")
    listed = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    made = s3.complete_multipart_upload(Bucket=BUCKET, Key="large", UploadId=upload, MultipartUpload=listed)
    assert refused(s3.delete_object, Key="large", VersionId=made["VersionId"]) == "AccessDenied"


@pytest.mark.parametrize("mode", ["COMPLIANCE", "GOVERNANCE"])
def test_a_lock_grows_and_never_shrinks(s3: Any, mode: str) -> None:
    lock(s3, mode)
    s3.put_object(Bucket=BUCKET, Key="dump", Body=b"x")
    retain = s3.put_object_retention
    assert refused(retain, Key="dump", Retention={"Mode": mode, "RetainUntilDate": until(1)}) == "AccessDenied"
    other = {"COMPLIANCE": "GOVERNANCE", "GOVERNANCE": "COMPLIANCE"}[mode]
    assert refused(retain, Key="dump", Retention={"Mode": other, "RetainUntilDate": until(9)}) == "AccessDenied"
    retain(Bucket=BUCKET, Key="dump", Retention={"Mode": mode, "RetainUntilDate": until(9)})


def test_governance_yields_to_a_bypass_and_compliance_does_not(s3: Any) -> None:
    shorter = {"RetainUntilDate": until(1)}
    lock(s3, "GOVERNANCE")
    made = s3.put_object(Bucket=BUCKET, Key="dump", Body=b"x")["VersionId"]
    assert refused(s3.delete_object, Key="dump", VersionId=made) == "AccessDenied"
    governed = {"Mode": "GOVERNANCE", **shorter}
    s3.put_object_retention(Bucket=BUCKET, Key="dump", Retention=governed, BypassGovernanceRetention=True)
    s3.delete_object(Bucket=BUCKET, Key="dump", VersionId=made, BypassGovernanceRetention=True)
    lock(s3)
    made = s3.put_object(Bucket=BUCKET, Key="dump", Body=b"x")["VersionId"]
    deleted = {"Key": "dump", "VersionId": made, "BypassGovernanceRetention": True}
    assert refused(s3.delete_object, **deleted) == "AccessDenied"
    strict = {"Mode": "COMPLIANCE", **shorter}
    again = {"Key": "dump", "Retention": strict, "BypassGovernanceRetention": True}
    assert refused(s3.put_object_retention, **again) == "AccessDenied"
    several = s3.delete_objects(
        Bucket=BUCKET, Delete={"Objects": [{"Key": "dump", "VersionId": made}]}, BypassGovernanceRetention=True
    )
    assert [one["Code"] for one in several["Errors"]] == ["AccessDenied"]


def test_a_bucket_locks_only_while_it_is_versioned_and_stays_so(s3: Any) -> None:
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Suspended"})
    enabled = {"ObjectLockEnabled": "Enabled"}
    assert refused(s3.put_object_lock_configuration, ObjectLockConfiguration=enabled) == "InvalidBucketState"
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    lock(s3)
    suspended = {"Status": "Suspended"}
    assert refused(s3.put_bucket_versioning, VersioningConfiguration=suspended) == "InvalidBucketState"
    # The rule goes, for what comes later; the bucket stays able to lock.
    s3.put_object_lock_configuration(Bucket=BUCKET, ObjectLockConfiguration=enabled)
    found = s3.get_object_lock_configuration(Bucket=BUCKET)["ObjectLockConfiguration"]
    assert found == enabled


def test_a_rule_has_a_mode_that_s3_knows_and_days_or_years(s3: Any) -> None:
    for retention in ({"Mode": "FOREVER", "Days": 1}, {"Mode": "COMPLIANCE"}):
        wrong = {"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": retention}}
        assert refused(s3.put_object_lock_configuration, ObjectLockConfiguration=wrong) == "MalformedXML"
