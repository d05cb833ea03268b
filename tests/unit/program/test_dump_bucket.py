"""Copies of the dumps in S3: what is refused, what is made for them, and what the jobs are told."""

import json
from typing import Any

import pytest

from nomad_stateful.components.dump_bucket import tls_only
from nomad_stateful.drivers import dump_policy
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.program import settings
from nomad_stateful.program.prefetch import CallError
from nomad_stateful.program.preflight import dump_bucket as preflight
from nomad_stateful.program.settings.dump_bucket import DumpBucket
from tests.unit.program.answers import answered
from tests.unit.program.recorder import planned, record

KEY = "arn:aws:kms:eu-central-1:123456789012:key/11111111-2222-3333-4444-555555555555"
AGENT = "example/nomad-stateful-agent:1.0"
LOCK = {"mode": "COMPLIANCE", "days": 30}
LOCKING = "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration"
PARTS = {
    "aws:s3/bucket:Bucket",
    "aws:s3/bucketVersioning:BucketVersioning",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
    "aws:s3/bucketPolicy:BucketPolicy",
}


def config(s3: dict[str, Any] | None) -> dict[str, Any]:
    """A stack with dumps, and their copies."""
    backup = {"volume": "dumps", **({} if s3 is None else {"s3": s3})}
    names = ("mysql", "dumps")
    return {
        "clientRole": "nomad-client",
        "agentImage": AGENT,
        "plugins": [{"id": "aws-ebs0"}],
        "volumes": [{"name": name, "zone": "us-west-2a", "sizeGib": 10} for name in names],
        "mysql": {"volume": "mysql", "backup": backup},
    }


def made(s3: dict[str, Any] | None) -> dict[str, Any]:
    """The inputs of what is made, by type; jobs and policies by name."""
    resources = record(config(s3))
    return {one.typ if one.typ in PARTS else name: one.inputs for name, one in resources.items()}


def test_without_the_setting_nothing_is_made_and_no_task_uploads() -> None:
    resources = made(None)
    assert not PARTS & set(resources)
    assert "mysql-dumps-access-policy" not in resources
    assert json.loads(resources["mysql-backup-job"]["hcl2"]["vars"]["s3"])["bucket"] == ""


def test_the_bucket_that_is_made_is_versioned_encrypted_closed_and_for_tls_only() -> None:
    resources = made({"keepDays": 90, "kmsKeyArn": KEY, "region": "eu-central-1"})
    assert set(resources) >= PARTS
    assert {resources[part]["region"] for part in PARTS} == {"eu-central-1"}
    by_type = {part.rpartition(":")[2]: resources[part] for part in PARTS}
    assert by_type["BucketVersioning"]["versioningConfiguration"] == {"status": "Enabled"}
    assert by_type["BucketServerSideEncryptionConfiguration"]["rules"] == [
        {
            "applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": KEY},
            "bucketKeyEnabled": True,
        }
    ]
    block = by_type["BucketPublicAccessBlock"]
    assert all(value is True for name, value in block.items() if name not in ("bucket", "region"))
    (rule,) = by_type["BucketLifecycleConfiguration"]["rules"]
    assert (rule["expiration"], rule["noncurrentVersionExpiration"]) == ({"days": 90}, {"noncurrentDays": 90})
    assert json.loads(by_type["BucketPolicy"]["policy"]) == tls_only("aws", "mysql-dumps-bucket-id")


@pytest.mark.parametrize("what", ["dumps", "binlogs"])
def test_a_bucket_that_locks_does_so_before_anything_is_written(what: str) -> None:
    wanted = config({"objectLock": LOCK} if what == "dumps" else None)
    if what == "binlogs":
        wanted["mysql"]["pointInTime"] = {"s3": {"objectLock": LOCK}}
    resources = record(wanted)
    (locks,) = (one for one in resources.values() if one.typ == LOCKING)
    assert locks.inputs["rule"] == {"defaultRetention": LOCK}
    assert locks.inputs["bucket"] == f"mysql-{what}-bucket-id"
    assert not any(one.typ == LOCKING for one in record(config({})).values())


def state(**rule: Any) -> dict[str, dict[str, Any]]:
    """What the last run left of a lock of the dumps' bucket."""
    outputs = {"bucket": "mysql-dumps-bucket-1", "rule": {"defaultRetention": rule}}
    return {f"urn:pulumi:prod::p::{LOCKING}::mysql-dumps-object-lock": {"type": LOCKING, "outputs": outputs}}


def test_what_cannot_be_taken_back_is_said_once() -> None:
    wanted = planned(config({"objectLock": LOCK}))
    for before in ({}, state(mode="GOVERNANCE", days=30), state(mode="COMPLIANCE", days=7)):
        (said,) = preflight.locks(wanted, before)
        assert said.startswith(
            "mysql.backup.s3.objectLock: what is copied from this `up` on nobody can delete for 30 days"
        )
    assert list(preflight.locks(wanted, state(**LOCK))) == []
    governed = planned(config({"objectLock": {"mode": "GOVERNANCE", "days": 30}}))
    assert "nobody without s3:BypassGovernanceRetention can delete" in next(preflight.locks(governed, {}))


def test_a_lock_that_is_left_out_stays_and_is_said_with_the_command_that_ends_it() -> None:
    (said,) = preflight.locks(planned(config({})), state(**LOCK))
    assert "mysql.backup.s3.objectLock is left out, but the bucket goes on locking" in said
    assert "`aws s3api put-object-lock-configuration --bucket mysql-dumps-bucket-1 " in said
    assert list(preflight.locks(planned(config({})), {})) == []
    assert list(preflight.locks(planned(config({"bucket": "given"})), state(**LOCK))) == []


def test_clients_that_ask_without_tls_are_not_refused_by_the_bucket() -> None:
    resources = made({"endpoint": "http://s3.internal"})
    assert PARTS - set(resources) == {"aws:s3/bucketPolicy:BucketPolicy"}


def test_a_bucket_that_goes_on_refusing_what_comes_without_tls_is_told_with_what_ends_it() -> None:
    kind = "aws:s3/bucketPolicy:BucketPolicy"
    urn = f"urn:pulumi:prod::p::{kind}::mysql-dumps-tls-only"
    before = {urn: {"type": kind, "outputs": {"bucket": "mysql-dumps-bucket-1"}}}
    wanted = planned(config({"endpoint": "http://s3.internal"}))
    (said,) = preflight.refusing(wanted, before)
    assert str(said) == (
        "mysql.backup.s3.endpoint is http://s3.internal: bucket mysql-dumps-bucket-1 refuses requests without TLS, and "
        "the stack would only forget the policy that says so. Use https://, or delete the policy first: `aws "
        "s3api delete-bucket-policy --bucket mysql-dumps-bucket-1`, then `pulumi refresh`."
    )
    assert list(preflight.refusing(wanted, {})) == []
    assert list(preflight.refusing(planned(config({"endpoint": "https://s3.internal"})), before)) == []
    assert list(preflight.refusing(planned(config({"bucket": "given", "endpoint": "http://s3"})), before)) == []


def test_the_jobs_and_the_clients_role_know_the_given_bucket() -> None:
    resources = made({"bucket": "given", "endpoint": "https://s3.internal:8443"})
    assert not PARTS & set(resources)
    for job in ("mysql-backup-job", "mysql-backup-restore-job"):
        s3 = json.loads(resources[job]["hcl2"]["vars"]["s3"])
        assert (s3["bucket"], s3["prefix"], s3["region"]) == ("given", "nomad-stateful/test/", "us-west-2")
        assert s3["endpoint"] == "https://s3.internal:8443"
    expected = dump_policy.policy("given", "nomad-stateful/test/", partition="aws", region="us-west-2")
    assert json.loads(resources["mysql-dumps-access-policy"]["policy"]) == expected
    assert resources["mysql-dumps-access-attachment"]["role"] == "nomad-client"


@pytest.mark.parametrize(
    ("s3", "key", "said"),
    [
        ({"bucket": "Under_Score"}, "bucket", "must be the name of an S3 bucket"),
        ({"bucket": "a..b"}, "bucket", "S3 takes no name with .."),
        ({"bucket": "192.168.0.1"}, "bucket", "none like an address"),
        ({"bucket": "given", "keepDays": 3}, "keepDays", "its own lifecycle says what it keeps"),
        ({"objectLock": {"mode": "COMPLIANCE", "days": 36}}, "objectLock.days", "a copy expires after keepDays, 35"),
        ({"keepDays": 3, "objectLock": {"mode": "GOVERNANCE", "days": 4}}, "objectLock.days", "after keepDays, 3"),
        ({"bucket": "given", "objectLock": LOCK}, "objectLock", "whoever owns it decides what is locked in it"),
        ({"objectLock": {"mode": "COMPLIANCE", "days": 0}}, "objectLock.days", "must be at least 1"),
        ({"prefix": "no-slash"}, "prefix", "must be folders that end in /"),
        ({"prefix": "a//"}, "prefix", "must be folders that end in /"),
        ({"kmsKeyArn": KEY, "region": "us-west-2"}, "kmsKeyArn", "S3 encrypts with keys of its region"),
        ({"kmsKeyArn": "alias/mine"}, "kmsKeyArn", "not of an alias"),
        ({"endpoint": "ftp://x"}, "endpoint", "must be https://HOST"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(s3: dict[str, Any], key: str, said: str) -> None:
    with pytest.raises(settings.SettingsError) as refused:
        settings.parse(config(s3))
    (problem,) = refused.value.problems
    assert problem.key == f"mysql.backup.s3.{key}"
    assert said in problem.rule


@pytest.mark.parametrize("key", ["mysql.backup.s3", "mysql.pointInTime.s3"])
def test_a_given_bucket_that_is_not_there_or_elsewhere_is_told_at_preview(key: str) -> None:
    given = config({"bucket": "given"} if key == "mysql.backup.s3" else None)
    if key == "mysql.pointInTime.s3":
        given["mysql"]["pointInTime"] = {"s3": {"bucket": "given"}}
    wanted = planned(given)
    (missing,) = preflight.problems(wanted, "us-west-2", {key: answered(CallError("there is no bucket 'given'"))})
    assert (missing.key, missing.value) == (f"{key}.bucket", "given")
    assert "there is no bucket 'given'" in missing.rule
    (elsewhere,) = preflight.problems(wanted, "us-west-2", {key: answered({"bucketRegion": "eu-central-1"})})
    assert (elsewhere.key, elsewhere.remedy) == (f"{key}.region", "set it to eu-central-1")
    assert preflight.problems(wanted, "eu-central-1", {key: answered({"bucketRegion": "eu-central-1"})}) == []


def test_a_bucket_that_is_made_is_not_asked_for() -> None:
    assert preflight.ask(planned(config({})), None) == {}  # type: ignore[arg-type]
    assert DumpBucket.model_validate({}).bucket is None


@pytest.mark.parametrize("state", ["off", "Suspended", "not known (AccessDenied; allow s3:GetBucketVersioning)"])
def test_a_given_bucket_that_keeps_no_versions_is_told(state: str) -> None:
    asked: list[tuple[str, str]] = []

    def ask(place: AwsPlace, bucket: str) -> str:
        asked.append((place.region, bucket))
        return state

    wanted = planned(config({"bucket": "given", "region": "eu-central-1"}))
    (said,) = preflight.unversioned(wanted, AwsPlace("us-west-2"), ask)
    assert asked == [("eu-central-1", "given")]
    assert f"mysql.backup.s3.bucket is given: its versioning is {state}: of what somebody overwrites" in str(said)
    assert "`aws s3api put-bucket-versioning --bucket given" in said.remedy


def test_a_versioned_bucket_and_one_that_is_made_are_not_told() -> None:
    place = AwsPlace("us-west-2")
    assert list(preflight.unversioned(planned(config({"bucket": "given"})), place, lambda *_: "Enabled")) == []
    assert list(preflight.unversioned(planned(config({})), place, lambda *_: "off")) == []
