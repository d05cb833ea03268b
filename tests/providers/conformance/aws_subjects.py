"""The types and functions of the aws plugin."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from nomad_stateful.plugin_server.values import Props
from tests.providers.conformance.subjects import FunctionSubject, TypeSubject
from tests.providers.conformance.worlds import World
from tests.providers.harness import Resource

ZONE = "us-west-2a"


def document(*actions: str) -> str:
    """A policy document that allows actions."""
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _volume(_world: World) -> Props:
    return {"availabilityZone": ZONE, "size": 10, "type": "gp3", "tags": {"Name": "data"}}


def _tag(world: World) -> Props:
    made = world.aws.ec2.create_volume(AvailabilityZone=ZONE, Size=1)
    return {"resourceId": made["VolumeId"], "key": "schedule", "value": "daily"}


def _untag(world: World, resource: Resource) -> None:
    world.aws.ec2.delete_tags(Resources=[resource["resourceId"]], Tags=[{"Key": resource["key"]}])


def _policy(_world: World) -> Props:
    return {"policy": document("ec2:AttachVolume"), "description": "for the driver"}


def _role(world: World) -> str:
    trust = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole"}]})
    world.aws.iam.create_role(RoleName="clients", AssumeRolePolicyDocument=trust, Description="")
    return "clients"


def _role_policy(world: World) -> Props:
    return {"role": _role(world), "policy": document("ec2:AttachVolume")}


def _attachment(world: World) -> Props:
    made = world.aws.iam.create_policy(PolicyName="p", PolicyDocument=document("ec2:AttachVolume"))
    return {"role": _role(world), "policyArn": made["Policy"]["Arn"]}


TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "dlm.amazonaws.com"}}],
    }
)


def _lifecycle_policy(world: World) -> Props:
    made = world.aws.iam.create_role(RoleName="snapshots", AssumeRolePolicyDocument=TRUST, Description="")
    return {
        "description": "Snapshots of volume data",
        "executionRoleArn": made["Role"]["Arn"],
        "policyDetails": details(14),
        "tags": {"a": "b"},
    }


def details(count: int) -> Props:
    """The details of a lifecycle policy that keeps a number of daily snapshots."""
    copy = {"target": "eu-central-1", "encrypted": True, "retainRule": {"interval": 30, "intervalUnit": "DAYS"}}
    schedule = {
        "name": "daily",
        "createRule": {"cronExpression": "cron(0 3 * * ? *)"},
        "retainRule": {"count": count},
        "copyTags": True,
        "tagsToAdd": {"tier": "gold"},
        "crossRegionCopyRules": [copy],
    }
    return {"resourceTypes": ["VOLUME"], "targetTags": {"snapshots": "data"}, "schedules": [schedule]}


def _made_role(_world: World) -> Props:
    return {"assumeRolePolicy": TRUST, "description": "for snapshots", "tags": {"a": "b"}}


def _bucket(world: World) -> str:
    place: Any = {"LocationConstraint": world.aws.s3.meta.region_name}
    world.aws.s3.create_bucket(Bucket="dumps", CreateBucketConfiguration=place)
    return "dumps"


def _in_bucket(more: Props) -> Callable[[World], Props]:
    return lambda world: {"bucket": _bucket(world), **more}


def _locked(mode: str, days: int) -> Props:
    """What new objects are locked for."""
    return {"defaultRetention": {"mode": mode, "days": days}}


def _in_versioned_bucket(more: Props) -> Callable[[World], Props]:
    def made(world: World) -> Props:
        bucket = _bucket(world)
        world.aws.s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        return {"bucket": bucket, **more}

    return made


def _expiry(days: int) -> list[Props]:
    """A lifecycle's rules."""
    return [
        {
            "id": "keep",
            "status": "Enabled",
            "filter": {"prefix": ""},
            "expiration": {"days": days},
            "noncurrentVersionExpiration": {"noncurrentDays": days},
            "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7},
        }
    ]


def _default_key(algorithm: str) -> list[Props]:
    return [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": algorithm}, "bucketKeyEnabled": False}]


def _statement(effect: str) -> str:
    """A bucket's policy."""
    statement = {"Effect": effect, "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::dumps/*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _delete_policy(world: World, resource: Resource) -> None:
    world.aws.iam.delete_policy(PolicyArn=resource.id)


def _delete_inline(world: World, resource: Resource) -> None:
    world.aws.iam.delete_role_policy(RoleName=resource["role"], PolicyName=resource["name"])


def _detach(world: World, resource: Resource) -> None:
    world.aws.iam.detach_role_policy(RoleName=resource["role"], PolicyArn=resource["policyArn"])


_type = partial(TypeSubject, import_id=lambda made: made.id)
_of_bucket = partial(_type, replaces={"bucket": "another"})

TYPES = (
    _type(
        "aws:ebs/volume:Volume",
        _volume,
        required={"availabilityZone"},
        updates={"size": 20, "type": "gp2", "iops": 4000, "throughput": 250, "tags": {"a": "b"}},
        replaces={"availabilityZone": "us-west-2b", "encrypted": True, "snapshotId": "snap-0123456789abcdef0"},
        vanish=lambda world, made: world.aws.ec2.delete_volume(VolumeId=made.id),
        left_out={"finalSnapshot", "multiAttachEnabled", "outpostArn"},
        invalid={"size": -1, "availabilityZone": "us-west-2z", "type": "gp9", "throughput": 1},
    ),
    _type(
        "aws:ec2/tag:Tag",
        _tag,
        required={"key", "resourceId", "value"},
        updates={"value": "weekly"},
        replaces={"resourceId": "vol-0123456789abcdef0", "key": "another"},
        vanish=_untag,
        invalid={"key": "aws:mine"},
    ),
    _type(
        "aws:iam/policy:Policy",
        _policy,
        required={"policy"},
        updates={"policy": document("ec2:DetachVolume"), "tags": {"a": "b"}},
        replaces={"description": "another", "path": "/a/", "name": "another"},
        delete_first_if_named=True,
        autonamed=True,
        vanish=_delete_policy,
        left_out={"delayAfterPolicyCreationInMs", "namePrefix"},
        invalid={"policy": "{", "path": "a"},
    ),
    _type(
        "aws:dlm/lifecyclePolicy:LifecyclePolicy",
        _lifecycle_policy,
        required={"description", "executionRoleArn", "policyDetails"},
        updates={"policyDetails": details(7), "description": "Others", "state": "DISABLED", "tags": {"a": "c"}},
        vanish=lambda world, made: world.aws.dlm.delete_lifecycle_policy(PolicyId=made.id),
        left_out={"defaultPolicy"},
        invalid={"description": "a:b", "executionRoleArn": "no-arn", "state": "ON", "policyDetails": {"schedules": 1}},
    ),
    _type(
        "aws:iam/role:Role",
        _made_role,
        required={"assumeRolePolicy"},
        updates={"assumeRolePolicy": TRUST.replace("dlm", "ec2"), "description": "another", "tags": {"a": "c"}},
        replaces={"path": "/a/", "name": "another"},
        delete_first_if_named=True,
        autonamed=True,
        vanish=lambda world, made: world.aws.iam.delete_role(RoleName=made.id),
        left_out={
            *("forceDetachPolicies", "inlinePolicies", "managedPolicyArns", "maxSessionDuration"),
            *("namePrefix", "permissionsBoundary"),
        },
        invalid={"assumeRolePolicy": "{"},
    ),
    _type(
        "aws:iam/rolePolicy:RolePolicy",
        _role_policy,
        required={"policy", "role"},
        updates={"policy": document("ec2:DetachVolume")},
        replaces={"role": "another", "name": "another"},
        delete_first_if_named=True,
        autonamed=True,
        vanish=_delete_inline,
        left_out={"namePrefix"},
        invalid={"policy": "{"},
    ),
    _type(
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        _attachment,
        required={"policyArn", "role"},
        updates={},
        replaces={"role": "another", "policyArn": "arn:aws:iam::123456789012:policy/another"},
        delete_first=True,
        vanish=_detach,
        invalid={"policyArn": "no-arn"},
    ),
    _type(
        "aws:s3/bucket:Bucket",
        lambda _world: {"tags": {"a": "b"}},
        required=frozenset(),
        updates={"tags": {"a": "c"}},
        replaces={"bucket": "another"},
        delete_first_if_named=True,
        autonamed=True,
        named_by="bucket",
        vanish=lambda world, made: world.aws.s3.delete_bucket(Bucket=made.id),
        left_out={
            *("accelerationStatus", "acl", "bucketNamespace", "bucketPrefix", "corsRules", "forceDestroy", "grants"),
            *("lifecycleRules", "logging", "objectLockConfiguration", "objectLockEnabled", "policy", "requestPayer"),
            *("replicationConfiguration", "serverSideEncryptionConfiguration", "versioning", "website"),
        },
        invalid={"bucket": "Under_Score"},
    ),
    _of_bucket(
        "aws:s3/bucketVersioning:BucketVersioning",
        _in_bucket({"versioningConfiguration": {"status": "Enabled"}}),
        required={"bucket", "versioningConfiguration"},
        updates={"versioningConfiguration": {"status": "Suspended"}},
        delete_stops=True,
        vanish=lambda world, made: world.aws.s3.delete_bucket(Bucket=made.id),
        left_out={"expectedBucketOwner", "mfa"},
        invalid={"versioningConfiguration": {"status": "ON"}},
    ),
    _of_bucket(
        "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration",
        _in_versioned_bucket({"rule": _locked("GOVERNANCE", 7)}),
        required={"bucket"},
        updates={"rule": _locked("COMPLIANCE", 9)},
        delete_stops=True,
        vanish=lambda world, made: world.aws.s3.delete_bucket(Bucket=made.id),
        left_out={"expectedBucketOwner", "token"},
        invalid={"rule": _locked("FOREVER", 7)},
    ),
    _of_bucket(
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
        _in_bucket({"rules": _default_key("AES256")}),
        required={"bucket", "rules"},
        updates={"rules": _default_key("aws:kms")},
        vanish=lambda world, made: world.aws.s3.delete_bucket(Bucket=made.id),
        left_out={"expectedBucketOwner"},
    ),
    _of_bucket(
        "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
        _in_bucket({"blockPublicAcls": True, "restrictPublicBuckets": True}),
        required={"bucket"},
        updates={"blockPublicPolicy": True, "ignorePublicAcls": True, "blockPublicAcls": False},
        vanish=lambda world, made: world.aws.s3.delete_public_access_block(Bucket=made.id),
        hidden={"skipDestroy"},
    ),
    _of_bucket(
        "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
        _in_bucket({"rules": _expiry(35)}),
        required={"bucket"},
        updates={"rules": _expiry(7)},
        vanish=lambda world, made: world.aws.s3.delete_bucket_lifecycle(Bucket=made.id),
        left_out={"expectedBucketOwner", "timeouts", "transitionDefaultMinimumObjectSize"},
    ),
    _of_bucket(
        "aws:s3/bucketPolicy:BucketPolicy",
        _in_bucket({"policy": _statement("Deny")}),
        required={"bucket", "policy"},
        updates={"policy": _statement("Allow")},
        vanish=lambda world, made: world.aws.s3.delete_bucket_policy(Bucket=made.id),
        invalid={"policy": "{"},
    ),
)


def _nothing(_world: World) -> Props:
    return {}


def _with_volume(world: World) -> Props:
    made: Any = world.aws.ec2.create_volume(AvailabilityZone=ZONE, Size=1)
    return {"filters": [{"name": "volume-id", "values": [made["VolumeId"]]}]}


def _with_snapshot(world: World) -> Props:
    made: Any = world.aws.ec2.create_volume(AvailabilityZone=ZONE, Size=1)
    taken = world.aws.ec2.create_snapshot(VolumeId=made["VolumeId"])
    return {"filters": [{"name": "snapshot-id", "values": [taken["SnapshotId"]]}]}


FUNCTIONS = (
    FunctionSubject("aws:index/getAvailabilityZones:getAvailabilityZones", _nothing),
    FunctionSubject("aws:index/getCallerIdentity:getCallerIdentity", _nothing),
    FunctionSubject("aws:ebs/getVolume:getVolume", _with_volume),
    FunctionSubject("aws:ebs/getSnapshot:getSnapshot", _with_snapshot),
    FunctionSubject("aws:s3/getBucket:getBucket", _in_bucket({}), required={"bucket"}),
    FunctionSubject("aws:iam/getRole:getRole", lambda world: {"name": _role(world)}, required={"name"}),
)
