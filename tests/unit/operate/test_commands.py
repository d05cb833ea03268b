"""The command line of operators."""

import sys
from argparse import Namespace
from typing import Any

import pytest

from operate import __main__ as command_line
from operate import recover, snapshots, stack, status
from operate.doctor import command as doctor
from operate.drain import command as drain
from operate.explain import command as explain
from operate.zone_change import command as zone_change


def test_what_changes_nothing_may_choose_the_stack_by_itself() -> None:
    looking = Namespace(yes=False, fence=False, dry_run=False)
    assert not snapshots.LIST.acts(looking)
    assert not status.COMMAND.acts(looking)
    assert not recover.COMMAND.acts(looking)
    assert not doctor.COMMAND.acts(looking)
    assert not explain.COMMAND.acts(looking)
    assert not drain.COMMAND.acts(Namespace(dry_run=True))
    assert not zone_change.MOVE.acts(Namespace(dry_run=True))
    assert recover.COMMAND.acts(Namespace(yes=True, fence=False))
    assert recover.COMMAND.acts(Namespace(yes=False, fence=True))
    others = {command.name for command in command_line.COMMANDS} - {
        "snapshots",
        "status",
        "recover",
        "doctor",
        "explain",
        "metrics",
    }
    assert {command.name for command in command_line.COMMANDS if command.acts(looking)} == others


def test_a_command_gets_its_arguments_after_its_stack_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(stack, "choose", lambda named, command, *, acts: seen.append((named, command, acts)))
    monkeypatch.setattr(snapshots, "take", lambda *words, **more: seen.append((words, more)))
    words = ["operate", "snapshot", "mysql", "--quiesce", "--stack", "prod"]
    monkeypatch.setattr(sys, "argv", words)
    assert command_line.main() == 0
    taken = (("mysql", ""), {"quiesce": True, "timeout_s": 3600})
    assert seen == [("prod", "operate snapshot", True), taken]
