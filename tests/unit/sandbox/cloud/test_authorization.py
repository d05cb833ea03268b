"""What EC2 asks IAM about a call."""

from __future__ import annotations

import json
from pathlib import Path

from sandbox.cloud.authorization import Account, Question, Questions, tags_in
from sandbox.cloud.calls import CallRecorder
from tests.unit.sandbox.cloud.test_calls import call

ARN = "arn:aws:ec2:us-west-2:123456789012"
SNAPSHOTS = "arn:aws:ec2:us-west-2::snapshot"
TAGGED = {"TagSpecification.1.ResourceType": "volume", "TagSpecification.1.Tag.1.Key": "a"}


class Known:
    """Resources by id."""

    def tags(self, resource_id: str) -> dict[str, str]:
        return {"id": resource_id} if resource_id in {"vol-1", "snap-1"} else {}

    def attached_to(self, volume_id: str) -> str:
        return "i-1" if volume_id == "vol-1" else ""


def questions(action: str, **params: str) -> list[Question] | None:
    return Questions(Account("aws", "us-west-2", "123456789012"), Known()).of(action, params)


def test_attaching_asks_about_the_volume_with_its_tags_and_about_the_instance() -> None:
    asked = [
        Question("ec2:AttachVolume", f"{ARN}:volume/vol-1", {"id": "vol-1"}),
        Question("ec2:AttachVolume", f"{ARN}:instance/i-2"),
    ]
    assert questions("AttachVolume", VolumeId="vol-1", InstanceId="i-2") == asked


def test_detaching_asks_about_the_instance_even_where_the_call_does_not_name_it() -> None:
    found = questions("DetachVolume", VolumeId="vol-1") or []
    assert [question.resource for question in found] == [f"{ARN}:volume/vol-1", f"{ARN}:instance/i-1"]


def test_making_a_tagged_volume_from_a_snapshot_asks_three_questions() -> None:
    asked = questions("CreateVolume", SnapshotId="snap-1", **TAGGED, **{"TagSpecification.1.Tag.1.Value": "b"})
    tags = {"a": "b"}
    assert asked == [
        Question("ec2:CreateVolume", f"{ARN}:volume/*", {}, tags),
        Question("ec2:CreateVolume", f"{SNAPSHOTS}/snap-1", {"id": "snap-1"}, tags),
        Question("ec2:CreateTags", f"{ARN}:volume/*", {}, tags, "CreateVolume"),
    ]


def test_making_an_untagged_volume_asks_nothing_about_tags() -> None:
    assert questions("CreateVolume") == [Question("ec2:CreateVolume", f"{ARN}:volume/*")]


def test_a_snapshot_asks_about_what_it_is_taken_of_and_what_it_becomes() -> None:
    found = questions("CreateSnapshot", VolumeId="vol-1", **TAGGED) or []
    assert [(question.action, question.resource, question.create_action) for question in found] == [
        ("ec2:CreateSnapshot", f"{ARN}:volume/vol-1", ""),
        ("ec2:CreateSnapshot", f"{SNAPSHOTS}/*", ""),
        ("ec2:CreateTags", f"{SNAPSHOTS}/*", "CreateSnapshot"),
    ]


def test_tagging_what_is_there_has_no_create_action() -> None:
    params = {"ResourceId.1": "vol-1", "ResourceId.2": "snap-1", "Tag.1.Key": "a", "Tag.1.Value": "b"}
    assert questions("CreateTags", **params) == [
        Question("ec2:CreateTags", f"{ARN}:volume/vol-1", {"id": "vol-1"}, {"a": "b"}),
        Question("ec2:CreateTags", f"{SNAPSHOTS}/snap-1", {"id": "snap-1"}, {"a": "b"}),
    ]


def test_describing_knows_no_resources() -> None:
    assert questions("DescribeVolumes", **{"VolumeId.1": "vol-1"}) == [Question("ec2:DescribeVolumes", "*")]


def test_what_is_not_known_is_not_guessed() -> None:
    assert questions("RunInstances") is None
    assert questions("AttachVolume") is None
    assert questions("CreateTags", **{"ResourceId.1": "subnet-1"}) is None


def test_a_tag_without_a_value_has_an_empty_one() -> None:
    assert tags_in({"Tag.1.Key": "a", "TagSpecification.1.Tag.2.Key": "b", "Other.Key": "c"}) == {"a": "", "b": ""}


def test_the_record_holds_the_questions_as_they_were_before_the_call(tmp_path: Path) -> None:
    order: list[str] = []

    def ask(action: str, params: dict[str, str]) -> list[Question]:
        order.append("asked")
        return [Question(f"ec2:{action}", params["VolumeId"], {"a": "b"})]

    def app(environ: object, start_response: object) -> list[bytes]:
        order.append("called")
        start_response("200 OK", [])  # type: ignore[operator]
        return [b""]

    log = tmp_path / "calls.jsonl"
    call(CallRecorder(app, log, lambda key: "", ask), "Action=DeleteVolume&VolumeId=v")
    entry = json.loads(log.read_text())
    assert order == ["asked", "called"]
    assert entry["service"] == "ec2"
    assert entry["authorization"] == [
        {
            "action": "ec2:DeleteVolume",
            "resource": "v",
            "resource_tags": {"a": "b"},
            "request_tags": {},
            "create_action": "",
        }
    ]
