"""The frame of the commands that change something."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from nomad_stateful.operate import frame
from nomad_stateful.operate.__main__ import COMMANDS
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Checks, Frame, NotConfirmedError, interruptible
from tests.unit.operate.commands import parsed, parser_of

ACTING: dict[str, list[str]] = {
    "adopt": [],
    "drain": ["client-1"],
    "drill": [],
    "failover": ["mysql", "--zone", "us-west-2b"],
    "move": ["mysql", "--zone", "us-west-2b"],
    "recover": [],
    "restore": [],
    "snapshot": ["mysql"],
    "upgrade-driver": ["v1.50.0"],
    "upgrade-mysql": ["9.7.4"],
    "upgrade-postgres": ["18.2"],
}
NEVER_ASKS = {"snapshot"}


class Framed(Exception):
    """A command was given its frame."""


def test_every_command_that_asks_before_it_acts_runs_in_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(name: str, yes: bool, *, checks: Checks, **more: bool) -> None:
        assert (yes, more) == (True, {"dry_run": False, "as_json": False})
        assert checks is asking[name].checks
        raise Framed(name)

    monkeypatch.setattr(frame, "Frame", made)
    helps = {command.name: parser_of(command).format_help() for command in COMMANDS}
    asking = {one.name: one for one in COMMANDS if "--yes" in helps[one.name] or "--dry-run" in helps[one.name]}
    assert set(asking) == set(ACTING)
    for name, words in ACTING.items():
        with pytest.raises(Framed, match=f"^{name}$"):
            asking[name].run(parsed(asking[name], *words, *([] if name in NEVER_ASKS else ["--yes"])))


def test_a_dry_run_says_the_plan_and_its_result_and_asks_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    assert not Frame("move", yes=False, dry_run=True).agree("Go on?", "the plan", {"ok": True})
    assert capsys.readouterr() == ("nothing was changed\n", "the plan\n")
    assert not Frame("move", yes=False, dry_run=True, as_json=True).agree("Go on?", "the plan", {"ok": True})
    assert capsys.readouterr() == ('{\n  "ok": true\n}\n', "the plan\n")


def test_where_nothing_is_to_do_nobody_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert not Frame("move", yes=False).agree("Go on?", needed=False)
    assert capsys.readouterr().out == "nothing to do\n"


def test_the_plan_is_said_before_the_question(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(NotConfirmedError, match=r"^Go on\? .*add --yes"):
        Frame("move", yes=False).agree("Go on?", "the plan")
    assert capsys.readouterr() == ("", "the plan\n")
    assert Frame("move", yes=True).agree("Go on?", "the plan")


def test_a_turn_has_the_lock_of_the_commands_before_it_looks_for_another_pulumi(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []

    @contextlib.contextmanager
    def exclusive(_nomad: Any, what: str) -> Iterator[Any]:
        done.append(what)
        yield lambda: done.append("looks")
        done.append("freed")

    class Engine:
        def refuse_locked(self) -> None:
            done.append("pulumi")

    monkeypatch.setattr(frame, "exclusive", exclusive)
    nomad: Any = None
    engine: Any = Engine()
    with Frame("restore", yes=True).turn(nomad, "latest", engine) as refuse_lost:
        refuse_lost()
    with Frame("move", yes=True).turn(nomad, "mysql"):
        done.append("acts")
    assert done == ["restore latest", "pulumi", "looks", "freed", "move mysql", "acts", "freed"]


def test_an_interruption_says_what_is_left_by_then() -> None:
    left: list[str] = []

    def act() -> None:
        with interruptible(lambda: f"{left[0]} is kept"):
            left.append("snap-1")
            raise KeyboardInterrupt

    with pytest.raises(OperateError, match=r"^interrupted: snap-1 is kept$"):
        act()
