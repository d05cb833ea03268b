"""The buckets that dumps and binary logs are copied to: whether a given one is there, and what a lock of one means."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from nomad_stateful.ebs.ec2_client import AwsPlace, aws_client
from nomad_stateful.program.plan.model import Bucket, Plan
from nomad_stateful.program.prefetch import CallError, Prefetch
from nomad_stateful.program.settings import Problem

_LOCK = "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration"
_POLICY = "aws:s3/bucketPolicy:BucketPolicy"
Resources = Mapping[str, dict[str, Any]]
Answers = dict[str, Future[dict[str, Any]]]


def ask(plan: Plan, prefetch: Prefetch) -> Answers:
    """Asks S3 for the buckets that are given; by the path of their settings."""
    return {
        bucket.section: prefetch.call("aws:s3/getBucket:getBucket", {"bucket": bucket.given})
        for bucket in plan.buckets
        if bucket.given is not None
    }


def problems(plan: Plan, region: str, answers: Answers) -> list[Problem]:
    """Returns what is wrong with the given buckets; `region` is the stack's."""
    return [
        problem
        for bucket in plan.buckets
        if bucket.section in answers and (problem := _problem(bucket, region, answers[bucket.section])) is not None
    ]


def unversioned(plan: Plan, place: AwsPlace, ask: Callable[[AwsPlace, str], str] | None = None) -> Iterator[Problem]:
    """Yields the given buckets in which nothing is left of what somebody overwrites or deletes."""
    for bucket in plan.buckets:
        if bucket.given is None:
            continue
        state = (ask or versioning)(replace(place, region=bucket.region or place.region), bucket.given)
        if state != "Enabled":
            rule = f"its versioning is {state}: of what somebody overwrites or deletes in it nothing would be left"
            command = (
                f"aws s3api put-bucket-versioning --bucket {bucket.given} --versioning-configuration Status=Enabled"
            )
            yield Problem(
                f"{bucket.section}.bucket", bucket.given, rule, f"`{command}`, with a lifecycle for earlier versions"
            )


def refusing(plan: Plan, resources: Resources) -> Iterator[Problem]:
    """Yields the buckets that the stack made for TLS only, and whose clients are to ask without it."""
    for bucket in plan.buckets:
        policy = _of_stack(resources, _POLICY, f"{bucket.name}-tls-only")
        if policy and bucket.inputs and not bucket.inputs.get("tls_only", True):
            name = policy.get("bucket")
            yield Problem(
                f"{bucket.section}.endpoint",
                bucket.copies["endpoint"],
                f"bucket {name} refuses requests without TLS, and the stack would only forget the policy that says so",
                f"use https://, or delete the policy first: `aws s3api delete-bucket-policy --bucket {name}`, then "
                "`pulumi refresh`",
            )


def locks(plan: Plan, resources: Resources) -> Iterator[str]:
    """Yields what of a change of objectLock cannot be taken back; `resources` are those of the stack's state."""
    for bucket in plan.buckets:
        key, outputs = bucket.section, _of_stack(resources, _LOCK, f"{bucket.name}-object-lock")
        before = (outputs.get("rule") or {}).get("defaultRetention") or {}
        lock = bucket.inputs.get("object_lock") if bucket.inputs else None
        if lock and (lock["mode"], lock["days"]) != (before.get("mode"), before.get("days")):
            who = "nobody" if lock["mode"] == "COMPLIANCE" else "nobody without s3:BypassGovernanceRetention"
            yield (
                f"{key}.objectLock: what is copied from this `up` on {who} can delete for {lock['days']} days, for "
                "which its storage has to be paid, also after a destroy. No later setting takes that back"
            )
        elif before and not lock and bucket.given is None:
            yield (
                f"{key}.objectLock is left out, but the bucket goes on locking what is copied: the stack only forgets "
                "what is set in it. Put it back, or end it for later copies by "
                f"`aws s3api put-object-lock-configuration --bucket {outputs.get('bucket')} "
                "--object-lock-configuration ObjectLockEnabled=Enabled`"
            )


def _of_stack(resources: Resources, kind: str, name: str) -> Mapping[str, Any]:
    """Returns what the state has of a resource; nothing where it has none."""
    found = (one for urn, one in resources.items() if one["type"] == kind and urn.endswith(f"::{name}"))
    return next(found, {}).get("outputs") or {}


def versioning(place: AwsPlace, bucket: str) -> str:
    """Returns Enabled, Suspended or off; why it is not known where S3 does not say."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return str(aws_client("s3", place).get_bucket_versioning(Bucket=bucket).get("Status") or "off")
    except (BotoCoreError, ClientError) as error:
        return f"not known ({error}; allow s3:GetBucketVersioning)"


def _problem(bucket: Bucket, region: str, answer: Future[dict[str, Any]]) -> Problem | None:
    try:
        found = answer.result().get("bucketRegion") or ""
    except CallError as error:
        remedy = "name a bucket that exists and that you may read (s3:ListBucket), or leave it out to have one made"
        return Problem(f"{bucket.section}.bucket", str(bucket.given), f"the bucket cannot be read: {error}", remedy)
    expected = bucket.region or region
    if found and found != expected:
        rule = f"the bucket {bucket.given} is in {found}"
        return Problem(
            f"{bucket.section}.region", bucket.region or f"{region}, the stack's", rule, f"set it to {found}"
        )
    return None
