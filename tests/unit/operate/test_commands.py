"""The command line of operators."""

import os
import subprocess
import sys
from argparse import Namespace
from typing import Any

import pytest

from nomad_stateful.operate import __main__ as command_line
from nomad_stateful.operate import snapshots, stack
from nomad_stateful.operate.zone_change import command as zone_change
from tests.unit.operate.conftest import Operate


def test_what_changes_nothing_may_choose_the_stack_by_itself() -> None:
    looking = Namespace(yes=False, fence=False, dry_run=False, write=False)
    commands = {command.name: command for command in command_line.COMMANDS if command.has_stack}
    looks = {"snapshots", "status", "recover", "doctor", "explain", "metrics", "adopt"}
    assert {name for name, command in commands.items() if not command.acts(looking)} == looks
    for name in ("drain", "move", "upgrade-mysql", "failover"):
        assert not commands[name].acts(Namespace(dry_run=True))
    assert commands["adopt"].acts(Namespace(write=True))
    assert commands["recover"].acts(Namespace(yes=True, fence=False))
    assert commands["recover"].acts(Namespace(yes=False, fence=True))


def test_a_command_gets_its_arguments_after_its_stack_is_chosen(
    operate: Operate, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(stack, "outputs", dict)
    monkeypatch.setattr(stack, "choose", lambda named, command, *, acts: seen.append((named, command, acts)))
    monkeypatch.setattr(snapshots, "take", lambda _frame, *words, **more: seen.append((words, more)))
    assert operate("snapshot", "mysql", "--quiesce", "--stack", "prod").status == 0
    taken = (("mysql", ""), {"quiesce": True, "timeout_s": 3600})
    assert seen == [("prod", "nomad-stateful snapshot", True), taken]


def test_a_shell_completes_commands_and_their_options(operate: Operate) -> None:
    script = operate("--completion", "bash").out
    asked = "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _shtab_nomad_stateful; echo ${COMPREPLY[*]}"
    for words, offered in (("expl", "explain"), ("upgrade-mysql --dry", "--dry-run"), ("drain --un", "--undo")):
        code = f"{script}\nCOMP_WORDS=(nomad-stateful {words}); {asked}"
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [offered]


@pytest.mark.parametrize("shell", command_line.SHELLS)
def test_each_shell_has_a_completion(shell: str, operate: Operate) -> None:
    ended = operate("--completion", shell)
    assert ended.status == 0
    assert "upgrade-mysql" in ended.out


def test_whoever_reads_no_more_of_the_output_is_told_nothing() -> None:
    source, sink = os.pipe()
    os.close(source)
    command = [sys.executable, "-m", "nomad_stateful.operate", "--completion", "bash"]
    done = subprocess.run(command, stdout=sink, stderr=subprocess.PIPE, text=True, check=False)
    os.close(sink)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_interrupted_command_ends_with_a_message(operate: Operate, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_words: Any, **_more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(snapshots, "take", interrupt)
    ended = operate("snapshot", "mysql")
    assert ended.status == 130
    assert "interrupted; `nomad-stateful status`" in ended.err


@pytest.mark.parametrize(
    "option", [["--dry-run"], ["--json"], ["--snapshot", "snap-1"], ["--max-loss", "0"], ["--yes"]]
)
def test_the_watch_does_not_begin_where_a_volume_was_left_out(
    operate: Operate, monkeypatch: pytest.MonkeyPatch, option: list[str]
) -> None:
    watched: list[bool] = []
    monkeypatch.setattr(zone_change, "watch", lambda *, fence: watched.append(fence))
    ended = operate("failover", *option)
    assert ended.status == 1
    assert f"error: {option[0]} is for `nomad-stateful failover VOLUME --zone ZONE`" in ended.err
    assert not watched


@pytest.mark.parametrize("given", ["nan", "inf", "-1", "soon"])
def test_a_limit_that_would_limit_nothing_is_refused(operate: Operate, given: str) -> None:
    ended = operate("failover", "mysql", "--zone", "us-west-2b", f"--max-loss={given}")
    assert ended.status == 2
    assert f"{given} must be a number, 0 or more" in ended.err
