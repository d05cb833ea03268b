"""EBS volumes that a stack left in AWS, and what it does about them."""

from typing import Any

import pytest

from nomad_stateful.components.zonal_volumes import Adopted
from nomad_stateful.program import plan, settings
from nomad_stateful.program.plan.model import EbsVolume
from nomad_stateful.program.preflight import adoption as preflight_adoption
from nomad_stateful.program.preflight import stack_state
from nomad_stateful.program.preflight import volumes as preflight_volumes
from tests.unit.program.test_volume_changes import BASE, DISK, FIRST, ebs, resources

STACK = "nomad-stateful/dev"
TAGS = {"Name": "disk", "ebs.csi.aws.com/cluster": "true", "nomad-stateful-stack": STACK, "nomad-stateful-guard": "g1"}


def left(volume_id: str = "vol-1", **more: Any) -> dict[str, Any]:
    # Numbers have a fraction in the engine's answers.
    known = {"zone": "us-west-2a", "sizeGib": 10.0, "type": "gp3", "iops": 3000.0, "throughputMibps": 125.0}
    volume = {"id": volume_id, "name": "disk", "state": "available", "guardId": "g1", "tags": TAGS, **known}
    return volume | more


def adopted(
    volume: dict[str, Any], *found: dict[str, Any], cut_off: dict[str, str] | None = None
) -> tuple[dict[str, Adopted], list[str]]:
    wanted = plan.of(settings.parse({**BASE, "volumes": [volume]}), STACK)
    new = [one for one in preflight_volumes.judge(wanted, {}).new if isinstance(one, EbsVolume)]
    taken, problems = preflight_adoption.adopt(new, found, cut_off or {})
    return taken, [str(problem) for problem in problems]


def test_no_empty_volume_is_made_beside_one_that_the_stack_left() -> None:
    taken, (problem,) = adopted(DISK, left())
    assert taken == {}
    assert problem == (
        "volumes.disk is not in the stack's state: EC2 has EBS volume vol-1 (10 GiB, us-west-2a, available) with "
        "this stack's tags, and an empty volume would be created next to it. Set adopt: true to go on with what is "
        "there; for an empty one take another name, or take the tag off: `aws ec2 delete-tags --resources vol-1 --tags "
        "Key=nomad-stateful-stack`."
    )


def test_it_is_taken_up_where_that_is_wanted() -> None:
    assert adopted({**DISK, "adopt": True}, left()) == ({"disk": {"volume_id": "vol-1", "guard_id": "g1"}}, [])


@pytest.mark.parametrize("found", [[], [left(name="other")], [left(state="error")]])
def test_where_nothing_is_left_a_volume_is_made(found: list[dict[str, Any]]) -> None:
    assert adopted({**DISK, "adopt": True}, *found) == ({}, [])
    assert adopted(DISK, *found) == ({}, [])


def test_a_volume_whose_creation_was_cut_off_is_taken_up_without_being_asked() -> None:
    assert adopted(DISK, left(), cut_off={"disk": "g1"}) == ({"disk": {"volume_id": "vol-1", "guard_id": "g1"}}, [])
    assert adopted(DISK, left(), cut_off={"disk": "another"})[0] == {}


def test_of_two_nobody_can_tell_which_is_meant() -> None:
    taken, (problem,) = adopted({**DISK, "adopt": True}, left(), left("vol-2"))
    assert taken == {}
    assert problem.startswith(
        "volumes.disk.adopt is true: EC2 has EBS volume vol-1 (10 GiB, us-west-2a, available), EBS"
    )


@pytest.mark.parametrize(
    ("change", "has", "said"),
    [
        (
            {"sizeGib": 20},
            {},
            "volumes.disk.sizeGib is 20: EBS volume vol-1 (10 GiB, us-west-2a, available) is adopted",
        ),
        ({}, {"zone": "us-west-2b"}, "volumes.disk.zone is us-west-2a: "),
        ({"type": "gp2"}, {}, "volumes.disk.type is gp2: "),
        ({"iops": 4000}, {}, "volumes.disk.iops is 4000: "),
        ({"throughputMibps": 250}, {}, "volumes.disk.throughputMibps is 250: "),
        ({"tags": {"team": "db"}}, {}, "volumes.disk.tags is team: "),
        ({}, {"tags": {**TAGS, "team": "db"}}, "volumes.disk.tags is not set: "),
        (
            {},
            {"guardId": "", "tags": {key: value for key, value in TAGS.items() if "guard" not in key}},
            "(nomad-stateful-guard)",
        ),
    ],
)
def test_it_is_adopted_as_it_is(change: dict[str, Any], has: dict[str, Any], said: str) -> None:
    taken, (problem,) = adopted({**DISK, "adopt": True, **change}, left(**has))
    assert taken == {}
    assert said in problem


def test_a_guard_whose_volume_is_in_no_state_is_known() -> None:
    state = ebs()
    whole = resources(*state)
    without = resources(*[one for one in state if one[0] != "aws:ebs/volume:Volume"])
    assert stack_state.cut_off(whole) == {}
    assert stack_state.cut_off(without) == {"disk": f"g-{FIRST}"}
