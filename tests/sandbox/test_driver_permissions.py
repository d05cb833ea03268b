"""What the EBS driver really calls, judged by exactly the policy that is attached for its mode."""

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from nomad_stateful.drivers.ebs_policy import Mode, policy
from tests.iam import evaluator, record
from tests.iam.evaluator import Request, judge
from tests.sandbox.driver_life import ROLE, Life, led
from tests.sandbox.ebs_programs import BOTH, words

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(bool(evaluator.missing()), reason=f"missing here: {evaluator.missing()}"),
]

PLACE = {"partition": "aws", "region": "us-west-2", "account_id": "123456789012"}
EVERYTHING = policy(set(Mode), **PLACE)

NEEDS = {
    "attach": {Mode.REGISTER},
    "create": {Mode.DYNAMIC},
    "attach what was made": {Mode.REGISTER},
    "expand": {Mode.EXPAND},
    "snapshot and restore": {Mode.DYNAMIC, Mode.SNAPSHOT},
    "delete": {Mode.DYNAMIC},
}

# What neither driver called in these phases.
NOT_CALLED_HERE = {
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeTags",
    "ec2:DescribeVolumeStatus",
}


@pytest.fixture(scope="module", params=BOTH)
def life(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Life]:
    with led(words(request.param), tmp_path_factory.mktemp("iam")) as phases:
        yield phases


@pytest.fixture(scope="module")
def asked(life: Life) -> list[Request]:
    return record.requests(call for calls in life.values() for call in calls)


def denied(document: dict[str, Any], requests: list[Request]) -> set[tuple[str, str]]:
    """Action and kind of resource of every request that the policy denies."""
    verdicts = judge([document], requests)[0]
    return {told(request) for request, allowed in zip(requests, verdicts, strict=True) if not allowed}


def told(request: Request) -> tuple[str, str]:
    return request.action, request.resource.rpartition("/")[0].rpartition(":")[2]


def actions_of(document: dict[str, Any]) -> set[str]:
    return {action for statement in document["Statement"] for action in statement["Action"]}


def without_action(document: dict[str, Any], action: str) -> dict[str, Any]:
    kept = [
        {**statement, "Action": [one for one in statement["Action"] if one != action]}
        for statement in document["Statement"]
    ]
    return {**document, "Statement": [statement for statement in kept if statement["Action"]]}


def without_statement(document: dict[str, Any], sid: str) -> dict[str, Any]:
    return {**document, "Statement": [one for one in document["Statement"] if one["Sid"] != sid]}


def test_every_call_is_made_with_the_role_of_the_instance(life: Life) -> None:
    callers = {call["caller"] for calls in life.values() for call in calls}
    assert len(callers) == 1
    role, _, session = callers.pop().partition("/")
    assert role == ROLE
    assert session.startswith("i-")


@pytest.mark.parametrize("phase", NEEDS)
def test_a_phase_of_a_volumes_life_is_allowed_by_the_policy_of_its_modes(life: Life, phase: str) -> None:
    requests = record.requests(life[phase])
    assert requests
    assert denied(policy(NEEDS[phase], **PLACE), requests) == set()


@pytest.mark.parametrize(
    ("phase", "missing"),
    [
        ("create", {("ec2:CreateVolume", "volume"), ("ec2:CreateTags", "volume")}),
        ("expand", {("ec2:ModifyVolume", "volume")}),
        ("delete", {("ec2:DeleteVolume", "volume")}),
        (
            "snapshot and restore",
            {
                ("ec2:CreateSnapshot", "volume"),
                ("ec2:CreateSnapshot", "snapshot"),
                ("ec2:CreateTags", "snapshot"),
                ("ec2:DeleteSnapshot", "snapshot"),
                ("ec2:DescribeSnapshots", ""),
                ("ec2:CreateVolume", "volume"),
                ("ec2:CreateVolume", "snapshot"),
                ("ec2:CreateTags", "volume"),
                ("ec2:DeleteVolume", "volume"),
            },
        ),
    ],
)
def test_a_driver_that_only_attaches_may_do_nothing_else(life: Life, phase: str, missing: set[tuple[str, str]]) -> None:
    assert denied(policy({Mode.REGISTER}, **PLACE), record.requests(life[phase])) == missing


def test_with_any_action_taken_away_exactly_its_calls_are_denied(asked: list[Request]) -> None:
    called = {request.action for request in asked}
    assert actions_of(EVERYTHING) - called == NOT_CALLED_HERE
    actions = sorted(called)
    verdicts = judge([without_action(EVERYTHING, action) for action in actions], asked)
    for action, row in zip(actions, verdicts, strict=True):
        lost = {request.action for request, allowed in zip(asked, row, strict=True) if not allowed}
        assert lost == {action}


def test_with_any_statement_taken_away_something_is_denied(asked: list[Request]) -> None:
    sids = [statement["Sid"] for statement in EVERYTHING["Statement"]]
    verdicts = judge([without_statement(EVERYTHING, sid) for sid in sids], asked)
    assert [sid for sid, row in zip(sids, verdicts, strict=True) if all(row)] == []


def test_without_the_tag_on_it_a_volume_or_snapshot_is_out_of_reach(asked: list[Request]) -> None:
    untagged = [record.without_resource_tags(request) for request in asked]
    assert denied(EVERYTHING, untagged) == {
        ("ec2:AttachVolume", "volume"),
        ("ec2:DetachVolume", "volume"),
        ("ec2:ModifyVolume", "volume"),
        ("ec2:DeleteVolume", "volume"),
        ("ec2:CreateSnapshot", "volume"),
        ("ec2:CreateVolume", "snapshot"),
        ("ec2:DeleteSnapshot", "snapshot"),
    }


def test_nothing_is_made_without_the_tag(asked: list[Request]) -> None:
    plain = [record.without_request_tags(request) for request in asked]
    assert denied(EVERYTHING, plain) == {("ec2:CreateVolume", "volume"), ("ec2:CreateSnapshot", "snapshot")}


def test_another_accounts_and_another_regions_volumes_are_out_of_reach(asked: list[Request]) -> None:
    own = [request for request in asked if request.resource != "*"]
    elsewhere = [replace(request, resource=request.resource.replace("us-west-2", "us-east-1")) for request in own]
    foreign = [
        replace(request, resource=request.resource.replace(":123456789012:", ":210987654321:"))
        for request in own
        if ":123456789012:" in request.resource
    ]
    assert not any(judge([EVERYTHING], elsewhere + foreign)[0])
