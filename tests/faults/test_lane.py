"""How a lane reads and changes the stack's file."""

from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tools.faults.lane import Lane

ABSENT = "error: configuration key 'mysql.memoryMib' not found for stack 'dev'"
MEMORY = "nomad-stateful:mysql.memoryMib"


class Commands:
    """A stack whose every command ends alike."""

    def __init__(self, code: int, output: str = "", error: str = "") -> None:
        self.answer = code, output, error
        self.ran: list[tuple[str, ...]] = []

    def run(self, *command: str, **_options: object) -> CompletedProcess[str]:
        self.ran.append(command)
        return CompletedProcess(command, *self.answer)


def lane(commands: Commands) -> Lane:
    made = Lane.__new__(Lane)
    made.__dict__.update(stack=cast("Any", commands), doing=SimpleNamespace(what=""))
    return made


def test_a_setting_that_the_file_leaves_out_is_empty_and_an_unreadable_file_an_error() -> None:
    assert lane(Commands(0, "1024\n")).setting(MEMORY) == "1024"
    assert lane(Commands(255, error=ABSENT)).setting(MEMORY) == ""
    with pytest.raises(AssertionError, match="invalid YAML"):
        lane(Commands(255, error="error: invalid YAML")).setting(MEMORY)


def test_a_setting_that_was_left_out_is_taken_out_again() -> None:
    commands = Commands(0)
    lane(commands).set(MEMORY, "1032")
    lane(commands).set(MEMORY, "")

    assert [command[1:5] for command in commands.ran] == [
        ("config", "set", "--path", MEMORY),
        ("config", "rm", "--path", MEMORY),
    ]
