"""Schedules that are kept as files: those that failed once, as the shortest of them that did."""

from ipaddress import IPv4Network
from pathlib import Path

import pytest

from tools.faults.schedules import __main__ as command
from tools.faults.schedules.actions import every_action
from tools.faults.schedules.model import Schedule

KEPT = sorted((Path(__file__).parent / "schedules").glob("*.json"))


def test_every_kept_schedule_is_of_actions_that_there_are() -> None:
    acts = [act for path in KEPT for step in Schedule.read(path).steps for act in step.acts]
    assert {act.name for act in acts} <= set(every_action())
    assert acts


@pytest.mark.sandbox
@pytest.mark.engine
@pytest.mark.nomad
@pytest.mark.nightly
def test_no_kept_schedule_fails(tmp_path: Path) -> None:
    words = [word for path in KEPT for word in ("--schedule", str(path))]
    place = ["--name", "nk", "--subnet", str(IPv4Network("10.173.141.0/24"))]
    assert command.main([*words, *place, "--run-once", "--results", str(tmp_path)]) == 0
