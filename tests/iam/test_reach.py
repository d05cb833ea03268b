"""What a taken-over client, or a deployer's leaked key, can do to volumes, backups and policies: a table."""

import json
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.databases.mysql import archive
from nomad_stateful.drivers import dump_policy, ebs_policy
from nomad_stateful.drivers.ebs_policy import Mode
from tests.iam.evaluator import Request, judge

REGION, ACCOUNT, STACK, OTHER = "us-west-2", "123456789012", "nomad-stateful/prod", "nomad-stateful/staging"
VOLUME, SNAPSHOT = f"arn:aws:ec2:{REGION}:{ACCOUNT}:volume/vol-0a", f"arn:aws:ec2:{REGION}::snapshot/snap-0a"
POLICIES = f"arn:aws:iam::{ACCOUNT}:policy/nomad-stateful"
CLUSTER = {"ebs.csi.aws.com/cluster": "true"}
Tags = dict[str, str]


def of(stack: str, **more: str) -> Tags:
    return {"Name": "mysql", "nomad-stateful-stack": stack, **{key.replace("_", "-"): one for key, one in more.items()}}


VOLUMES: dict[str, Tags] = {
    "the stack's, protected": {**CLUSTER, **of(STACK, nomad_stateful_guard="g1")},
    "left behind by a move": {**CLUSTER, "Name": "mysql", "nomad-stateful-left": f"{STACK}/mysql"},
    "another stack's": {**CLUSTER, **of(OTHER)},
    "an existing one, tagged for the driver": CLUSTER,
    "adopted, made by a driver once": {**CLUSTER, **of(STACK), "CSIVolumeName": "pvc-1"},
    "made by a driver": {**CLUSTER, "CSIVolumeName": "pvc-1"},
}
SCHEDULED = {"nomad-stateful-snapshots": f"{STACK}/mysql"}
SNAPSHOTS: dict[str, Tags] = {
    "scheduled": {**of(STACK), **SCHEDULED},
    "scheduled, with the driver's tag (earlier releases, sets)": {**CLUSTER, **of(STACK), **SCHEDULED},
    "scheduled, of a volume that a driver made": {**CLUSTER, **SCHEDULED, "CSIVolumeName": "pvc-1"},
    "final": {**CLUSTER, **of(STACK, nomad_stateful_final_snapshot_of="vol-0a")},
    "an operator's": {**CLUSTER, **of(STACK)},
    "the first of a move": of(STACK, nomad_stateful_move="first"),
    "the last of a move": of(STACK, nomad_stateful_move="us-west-2b 12"),
    "another stack's": {**CLUSTER, **of(OTHER)},
    "another stack's first of a move": of(OTHER, nomad_stateful_move="first"),
    "taken by a driver": {**CLUSTER, "CSIVolumeSnapshotName": "snapshot-1"},
}


def client(*modes: Mode) -> dict[str, Any]:
    return ebs_policy.policy(modes, partition="aws", region=REGION, account_id=ACCOUNT, version="v1.64.0")


def deployer() -> dict[str, Any]:
    text = (Path(__file__).parents[2] / "examples/aws/pulumi.json").read_text(encoding="utf-8")
    values = {"PROJECT/STACK": STACK, "ACCOUNT": ACCOUNT, "REGION": REGION, "CLIENT_ROLE": "nomad-client"}
    for key, value in values.items():
        text = text.replace(key, value)
    document: dict[str, Any] = json.loads(text)
    return document


def allowed(policy: dict[str, Any], action: str, things: dict[str, Tags]) -> set[str]:
    """Which of these things the policy lets the action be done to."""
    resource = VOLUME if things is VOLUMES else SNAPSHOT
    requests = [
        Request(f"ec2:{action}", resource, {f"ec2:ResourceTag/{key}": one for key, one in tags.items()})
        for tags in things.values()
    ]
    (verdicts,) = judge([policy], requests)
    return {name for name, verdict in zip(things, verdicts, strict=True) if verdict}


@pytest.mark.parametrize(
    ("modes", "action", "things", "expected"),
    [
        ([Mode.REGISTER], "DeleteVolume", VOLUMES, set()),
        ([Mode.REGISTER], "DeleteSnapshot", SNAPSHOTS, set()),
        (list(Mode), "DeleteVolume", VOLUMES, {"made by a driver"}),
        (list(Mode), "DeleteSnapshot", SNAPSHOTS, {"taken by a driver"}),
        # By a volume that is made from one, its content is read.
        ([Mode.REGISTER], "CreateVolume", SNAPSHOTS, set()),
        (
            list(Mode),
            "CreateVolume",
            SNAPSHOTS,
            {name for name, tags in SNAPSHOTS.items() if tags.items() >= CLUSTER.items()},
        ),
        (list(Mode), "CreateTags", VOLUMES, set()),
        (list(Mode), "CreateTags", SNAPSHOTS, set()),
        (list(Mode), "DeleteTags", SNAPSHOTS, set()),
        (list(Mode), "ModifySnapshotAttribute", SNAPSHOTS, set()),
    ],
)
def test_a_clients_role_deletes_what_a_driver_made_and_no_backup(
    modes: list[Mode], action: str, things: dict[str, Tags], expected: set[str]
) -> None:
    assert allowed(client(*modes), action, things) == expected


@pytest.mark.parametrize("action", ["AttachVolume", "DetachVolume"])
def test_a_clients_role_moves_every_tagged_volume_from_any_instance_to_any(action: str) -> None:
    assert allowed(client(), action, VOLUMES) == set(VOLUMES)
    # EC2 asks for both: the volume, and the instance that has it or gets it. IAM has no key for Force.
    instances = [f"arn:aws:ec2:{REGION}:{ACCOUNT}:instance/{one}" for one in ("i-0a", "i-0b")]
    tags = [{}, {"ec2:ResourceTag/nomad-stateful-stack": OTHER}]
    requests = [Request(f"ec2:{action}", one, of) for one in instances for of in tags]
    assert judge([client()], requests) == [[True] * 4]


@pytest.mark.parametrize(
    ("action", "things", "expected"),
    [
        ("DeleteSnapshot", SNAPSHOTS, {"the first of a move"}),
        ("CreateTags", SNAPSHOTS, set()),
        ("DeleteTags", SNAPSHOTS, set()),
        ("DeleteVolume", VOLUMES, {"the stack's, protected", "adopted, made by a driver once"}),
        ("DetachVolume", VOLUMES, {"the stack's, protected", "adopted, made by a driver once"}),
        (
            "CreateVolume",
            SNAPSHOTS,
            {name for name, tags in SNAPSHOTS.items() if tags.get("nomad-stateful-stack") == STACK},
        ),
    ],
)
def test_a_deployers_key_reaches_its_own_volumes_and_no_backup(
    action: str, things: dict[str, Tags], expected: set[str]
) -> None:
    assert allowed(deployer(), action, things) == expected


S3 = "arn:aws:s3:::backups"
OBJECTS = {
    "a dump": f"{S3}/{STACK}/20260101T030000Z.sql.gz",
    "a binary log": f"{S3}/{STACK}/binlogs/20260101T030000Z-binlog.000004",
    "how far the logs reach": f"{S3}/{STACK}/binlogs/until",
    "another stack's dump": f"{S3}/{OTHER}/20260101T030000Z.sql.gz",
    "another stack's binary log": f"{S3}/{OTHER}/binlogs/20260101T030000Z-binlog.000004",
}
MADE = {"s3:ObjectCreationOperation": "true"}
OWN_OBJECTS = {"a dump", "a binary log", "how far the logs reach"}


def copies() -> dict[str, Any]:
    """What both policies of a stack together allow, with dumps and binary logs under one prefix."""
    where = {"partition": "aws", "region": REGION}
    until = f"{archive.FOLDER}{archive.UNTIL}"
    both = [dump_policy.policy("backups", f"{STACK}/", replaced=one, **where) for one in (None, until)]
    statements = [
        {**one, "Sid": f"{one['Sid']}{number}"} for number, whole in enumerate(both) for one in whole["Statement"]
    ]
    return {**both[0], "Statement": statements}


@pytest.mark.parametrize(
    ("action", "conditions", "expected"),
    [
        ("PutObject", {**MADE, "s3:if-none-match": "*"}, OWN_OBJECTS),
        ("PutObject", MADE, set()),
        ("PutObject", {**MADE, "s3:if-match": '"tag"'}, {"how far the logs reach"}),
        ("DeleteObject", {}, set()),
        ("DeleteObjectVersion", {}, set()),
        ("PutObjectTagging", {}, set()),
        ("PutObjectRetention", {}, set()),
        ("PutObjectLegalHold", {}, set()),
        ("BypassGovernanceRetention", {}, set()),
        ("GetObject", {}, OWN_OBJECTS),
        ("GetObjectVersion", {}, set()),
    ],
)
def test_a_clients_role_adds_dumps_and_binary_logs_and_replaces_none(
    action: str, conditions: dict[str, str], expected: set[str]
) -> None:
    (verdicts,) = judge([copies()], [Request(f"s3:{action}", arn, conditions) for arn in OBJECTS.values()])
    assert {name for name, verdict in zip(OBJECTS, verdicts, strict=True) if verdict} == expected


@pytest.mark.parametrize(
    "action", ["PutLifecycleConfiguration", "PutBucketVersioning", "PutBucketPolicy", "DeleteBucket"]
)
def test_a_clients_role_changes_nothing_of_the_bucket(action: str) -> None:
    assert judge([copies()], [Request(f"s3:{action}", S3)]) == [[False]]


OWN, OTHERS, EARLIER = (
    f"{POLICIES}/{STACK}/ebs-driver-policy-1a2b3c4",
    f"{POLICIES}/{OTHER}/ebs-driver-policy-1a2b3c4",
    f"arn:aws:iam::{ACCOUNT}:policy/ebs-driver-policy-eda06f9",
)


@pytest.mark.parametrize("action", ["CreatePolicyVersion", "SetDefaultPolicyVersion", "DeletePolicy", "CreatePolicy"])
def test_a_deployers_key_writes_the_policies_of_its_own_stack_alone(action: str) -> None:
    requests = [Request(f"iam:{action}", arn) for arn in (OWN, OTHERS, EARLIER, f"{POLICIES}/{STACK}-2/x")]
    assert judge([deployer()], requests) == [[True, False, False, False]]


def test_a_deployers_key_attaches_the_policies_of_its_own_stack_to_its_own_clients_alone() -> None:
    roles = [f"arn:aws:iam::{ACCOUNT}:role/{name}" for name in ("nomad-client", "other-client")]
    requests = [
        Request("iam:AttachRolePolicy", role, {"iam:PolicyARN": arn})
        for role in roles
        for arn in (OWN, OTHERS, "arn:aws:iam::aws:policy/AdministratorAccess")
    ]
    assert judge([deployer()], requests) == [[True, False, False, False, False, False]]
