"""Which permissions a stack's volumes ask for."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from nomad_stateful.drivers.ebs_policy import Mode, modes_for, policy

PAGE = Path(__file__).parents[3] / "docs/iam.md"


@dataclass(frozen=True)
class AVolume:
    provision: str
    snapshot_id: str | None = None


MAKING = {Mode.REGISTER, Mode.DYNAMIC, Mode.EXPAND}


@pytest.mark.parametrize(
    ("volumes", "modes"),
    [
        ([], {Mode.REGISTER}),
        ([AVolume("existing")], {Mode.REGISTER}),
        ([AVolume("pulumi")], {Mode.REGISTER}),
        ([AVolume("pulumi", "snap-1")], {Mode.REGISTER}),
        ([AVolume("plugin")], MAKING),
        ([AVolume("existing"), AVolume("plugin")], MAKING),
        ([AVolume("plugin", "snap-1")], {*MAKING, Mode.SNAPSHOT}),
    ],
)
def test_the_driver_may_do_what_its_volumes_leave_to_it(volumes: list[AVolume], modes: set[Mode]) -> None:
    assert modes_for(volumes) == modes


def test_snapshots_on_demand_are_asked_for() -> None:
    assert modes_for([AVolume("pulumi")], snapshots=True) == {Mode.REGISTER, Mode.SNAPSHOT}


def test_clones_on_demand_need_what_makes_volumes_too() -> None:
    assert modes_for([AVolume("pulumi")], clones=True) == {Mode.REGISTER, Mode.DYNAMIC, Mode.CLONE}


def test_every_statement_and_action_is_explained() -> None:
    text = PAGE.read_text(encoding="utf-8")
    document = policy(set(Mode), partition="aws", region="r", account_id="1", kms_key_arns=["arn:k"], version="v1.64.0")
    for statement in document["Statement"]:
        assert f"| {statement['Sid']} |" in text
        assert [action for action in statement["Action"] if action.removeprefix("ec2:") not in text] == []
