"""What preflight could not ask is an error: it never goes on as if the answer had been the good one."""

from typing import Any

import pulumi
import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.preflight import check as preflight
from nomad_stateful.program.preflight import dump_bucket
from nomad_stateful.program.settings import SettingsError
from tests.unit.program.answers import Answers
from tests.unit.program.recorder import planned

SCHEDULES = [{"name": "daily", "schedule": "0 3 * * *", "keep": 7}]
CONFIG: dict[str, Any] = {
    "clientRole": "nomad-client",
    "plugins": [{"id": "ebs0", "driver": "ebs"}],
    "volumes": [
        {"name": "data", "zone": "us-west-2a", "sizeGib": 1, "adopt": True},
        {"name": "restored", "zone": "us-west-2a", "sizeGib": 1, "snapshotId": "snap-0123456789abcdef0"},
        {"name": "dumps", "zone": "us-west-2a", "sizeGib": 1},
        {
            "name": "ledger",
            "zone": "us-west-2a",
            "provision": "existing",
            "externalId": "vol-0000000000000000d",
            "snapshots": SCHEDULES,
        },
    ],
    "agentImage": "example/nomad-stateful-agent:1.0",
    "mysql": {"volume": "data", "backup": {"volume": "dumps", "s3": {"bucket": "given"}}},
}
QUESTIONS = {
    "aws:ebs/getSnapshot:getSnapshot",
    "aws:ebs/getVolume:getVolume",
    "aws:iam/getRole:getRole",
    "aws:s3/getBucket:getBucket",
    "nomad-csi:index:getJob",
    "nomad-csi:index:getOwners",
    "nomad-csi:index:getPlacement",
    "nomad-csi:index:getVolumes",
    "pulumi:pulumi:readStackResourceOutputs",
}
AT_ONCE = {"identity", "zones", "cluster", "plugins"}


@pytest.fixture(autouse=True)
def warned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(pulumi, "warn", said.append)
    monkeypatch.setattr(dump_bucket, "versioning", lambda _place, _bucket: "Enabled")
    return said


def check(answers: Any) -> str:
    """What preflight refuses; empty where it goes on."""
    try:
        preflight.check(settings.parse(CONFIG), planned(CONFIG), answers)
    except SettingsError as error:
        return str(error)
    return ""


def test_every_question_is_known_here() -> None:
    answers = Answers()
    assert check(answers) == ""
    assert answers.asked == QUESTIONS


@pytest.mark.parametrize("question", sorted(QUESTIONS | AT_ONCE))
def test_a_question_that_is_not_answered_is_refused(question: str) -> None:
    assert "RequestLimitExceeded" in check(Answers(question))


def test_no_empty_volume_is_made_where_ec2_does_not_say_which_the_stack_left() -> None:
    assert check(Answers("nomad-csi:index:getVolumes")) == (
        "1 setting refused; nothing was created:\n  - the stack's EBS volumes is not usable: RequestLimitExceeded: "
        "Request limit exceeded. Allow ec2:DescribeVolumes; what passes by itself, such as throttling, needs the same "
        "command again."
    )


def test_adopt_that_finds_nothing_says_so(warned: list[str]) -> None:
    assert check(Answers()) == ""
    (said,) = [one for one in warned if "adopt" in one]
    assert said == (
        "volumes.data.adopt is true: EC2 has no volume with the tags Name=data and "
        f"nomad-stateful-stack={pulumi.get_project()}/{pulumi.get_stack()}, and an empty one is made. If there is one, "
        "stop here and give it these tags: under an earlier name of the stack its nomad-stateful-stack is another "
        "(`aws ec2 describe-volumes --filters Name=tag:Name,Values=data`)."
    )
