"""What the frame checks for each command: the table of docs/operate.md, and what the frame then does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nomad_stateful.operate import clocks, frame
from nomad_stateful.operate.__main__ import COMMANDS
from nomad_stateful.operate.frame import Checks, Frame

PAGE = Path(__file__).parents[3] / "docs/operate.md"
HEAD = "| command | the cluster is the stack's | no other command | no other `pulumi` | clocks agree |"


def rows() -> dict[str, Checks]:
    """Returns the table of the page."""
    lines = PAGE.read_text(encoding="utf-8").partition(HEAD)[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    given = {name.strip("`"): ["" if cell == "yes" else cell for cell in more] for name, *more in cells}
    return {
        name: Checks(cluster=cluster, turn=turn, pulumi=pulumi, clock=clock)
        for name, (cluster, turn, pulumi, clock) in given.items()
    }


def test_the_page_has_what_each_command_has_checked() -> None:
    assert rows() == {command.name: command.checks for command in COMMANDS if command.checks}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which questions the frame asks; Nomad's clock is an hour off."""
    found: list[str] = []
    nomad = SimpleNamespace(close=lambda: found.append("closed"), clock=lambda: datetime.now(UTC) - timedelta(hours=1))

    def of_volume(name: str) -> Any:
        found.append(f"volume {name}")
        return nomad

    monkeypatch.setattr(frame, "connect", lambda **_: nomad)
    monkeypatch.setattr(frame, "stack_cluster", of_volume)
    monkeypatch.setattr("nomad_stateful.operate.ownership.required", lambda _: found.append("any volume"))
    return found


def test_a_cluster_is_checked_by_the_volume_or_by_any_unless_the_command_says_why_not(asked: list[str]) -> None:
    for checks, volume in [(Checks(), ""), (Checks(), "mysql"), (Checks(cluster="reads it"), "mysql")]:
        with Frame("try", yes=True, checks=checks).cluster(volume):
            asked.append("acts")
    assert asked == ["any volume", "acts", "closed", "volume mysql", "acts", "closed", "acts", "closed"]


@pytest.mark.usefixtures("asked")
def test_a_clock_that_is_off_is_told_where_times_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    with Frame("try", yes=True).cluster():
        assert capsys.readouterr().err == ""
    with Frame("try", yes=True, checks=Checks(clock="")).cluster():
        said = capsys.readouterr().err
    assert said.startswith("warning: the clock of the Nomad server is 35")
    assert clocks.REMEDY in said


def test_a_command_without_a_turn_takes_no_lock_and_does_not_look_for_another_pulumi() -> None:
    nothing: Any = None
    with Frame("try", yes=True, checks=Checks(turn="reads alone")).turn(nothing, "mysql", nothing) as refuse_lost:
        refuse_lost()
