"""The command line of operators."""

import os
import subprocess
import sys
from argparse import Namespace
from typing import Any

import pytest

from nomad_stateful.operate import __main__ as command_line
from nomad_stateful.operate import recover, snapshots, stack, status
from nomad_stateful.operate.adopt import command as adopt
from nomad_stateful.operate.doctor import command as doctor
from nomad_stateful.operate.drain import command as drain
from nomad_stateful.operate.explain import command as explain
from nomad_stateful.operate.upgrade_database import command as upgrade_database
from nomad_stateful.operate.zone_change import command as zone_change


def test_what_changes_nothing_may_choose_the_stack_by_itself() -> None:
    looking = Namespace(yes=False, fence=False, dry_run=False, write=False)
    assert not snapshots.LIST.acts(looking)
    assert not status.COMMAND.acts(looking)
    assert not recover.COMMAND.acts(looking)
    assert not doctor.COMMAND.acts(looking)
    assert not explain.COMMAND.acts(looking)
    assert not drain.COMMAND.acts(Namespace(dry_run=True))
    assert not zone_change.MOVE.acts(Namespace(dry_run=True))
    assert not upgrade_database.COMMANDS[0].acts(Namespace(dry_run=True))
    assert not zone_change.FAILOVER.acts(Namespace(dry_run=True))
    assert not adopt.COMMAND.acts(looking)
    assert adopt.COMMAND.acts(Namespace(write=True))
    assert recover.COMMAND.acts(Namespace(yes=True, fence=False))
    assert recover.COMMAND.acts(Namespace(yes=False, fence=True))
    others = {command.name for command in command_line.COMMANDS if command.has_stack} - {
        "snapshots",
        "status",
        "recover",
        "doctor",
        "explain",
        "metrics",
        "adopt",
    }
    acting = {command.name for command in command_line.COMMANDS if command.has_stack and command.acts(looking)}
    assert acting == others


def test_a_command_gets_its_arguments_after_its_stack_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(stack, "outputs", dict)
    monkeypatch.setattr(stack, "choose", lambda named, command, *, acts: seen.append((named, command, acts)))
    monkeypatch.setattr(snapshots, "take", lambda _frame, *words, **more: seen.append((words, more)))
    words = ["operate", "snapshot", "mysql", "--quiesce", "--stack", "prod"]
    monkeypatch.setattr(sys, "argv", words)
    assert command_line.main() == 0
    taken = (("mysql", ""), {"quiesce": True, "timeout_s": 3600})
    assert seen == [("prod", "nomad-stateful snapshot", True), taken]


def test_a_shell_completes_commands_and_their_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["nomad-stateful", "--completion", "bash"])
    with pytest.raises(SystemExit, match=r"^0$"):
        command_line.main()
    script = capsys.readouterr().out
    asked = "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _shtab_nomad_stateful; echo ${COMPREPLY[*]}"
    for words, offered in (("expl", "explain"), ("upgrade-mysql --dry", "--dry-run"), ("drain --un", "--undo")):
        code = f"{script}\nCOMP_WORDS=(nomad-stateful {words}); {asked}"
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [offered]


@pytest.mark.parametrize("shell", command_line.SHELLS)
def test_each_shell_has_a_completion(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["nomad-stateful", "--completion", shell])
    with pytest.raises(SystemExit, match=r"^0$"):
        command_line.main()
    assert "upgrade-mysql" in capsys.readouterr().out


def test_whoever_reads_no_more_of_the_output_is_told_nothing() -> None:
    source, sink = os.pipe()
    os.close(source)
    command = [sys.executable, "-m", "nomad_stateful.operate", "--completion", "bash"]
    done = subprocess.run(command, stdout=sink, stderr=subprocess.PIPE, text=True, check=False)
    os.close(sink)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_interrupted_command_ends_with_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_words: Any, **_more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stack, "choose", lambda *_words, **_more: None)
    monkeypatch.setattr(snapshots, "take", interrupt)
    monkeypatch.setattr(sys, "argv", ["operate", "snapshot", "mysql"])
    assert command_line.main() == 130
    assert "interrupted; `nomad-stateful status`" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", [["--dry-run"], ["--json"], ["--snapshot", "snap-1"], ["--max-loss", "0"], ["--yes"]]
)
def test_the_watch_does_not_begin_where_a_volume_was_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    watched: list[bool] = []
    monkeypatch.setattr(stack, "choose", lambda *_words, **_more: None)
    monkeypatch.setattr(zone_change, "watch", lambda *, fence: watched.append(fence))
    monkeypatch.setattr(sys, "argv", ["operate", "failover", *option])
    assert command_line.main() == 1
    assert f"error: {option[0]} is for `nomad-stateful failover VOLUME --zone ZONE`" in capsys.readouterr().err
    assert not watched


@pytest.mark.parametrize("given", ["nan", "inf", "-1", "soon"])
def test_a_limit_that_would_limit_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    words = ["failover", "mysql", "--zone", "us-west-2b", f"--max-loss={given}"]
    monkeypatch.setattr(sys, "argv", ["operate", *words])
    with pytest.raises(SystemExit):
        command_line.main()
    assert f"{given} must be a number, 0 or more" in capsys.readouterr().err
