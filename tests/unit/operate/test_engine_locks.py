"""Whose lock a command may remove: that of a pulumi which it started itself and which is gone, and no other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nomad_stateful.operate import engine_locks
from nomad_stateful.operate.engine import Engine, EngineError, StackLockedError
from nomad_stateful.operate.engine_locks import Started
from tests.programs import make_program

LOCKED = """error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end.
  s3://bucket/.pulumi/locks/x.json: created by root@{host} (pid {pid}) at 2026-11-22T10:00:00Z"""
PULUMI = """#!{python}
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
word = sys.argv[1]
with (here / "ran").open("a") as ran:
    ran.write(word + "\\n")
lock = here / "lock"
if word == "cancel":
    lock.unlink()
elif word == "stack":
    urn = "urn:pulumi:dev::p::pulumi:pulumi:Stack::p-dev"
    print(json.dumps({{"deployment": {{"resources": [{{"type": "pulumi:pulumi:Stack", "urn": urn}}]}}}}))
elif lock.exists():
    sys.exit(lock.read_text())
elif os.environ.get("DIES"):
    lock.write_text(os.environ["DIES"].format(pid=os.getpid()))
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pulumi whose stack is locked by what is in the file `lock`; it appends what it is asked to the file `ran`."""
    make_program(tmp_path / "pulumi", PULUMI.format(python=sys.executable))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("socket.gethostname", lambda: "here")
    return tmp_path


def ran(backend: Path) -> list[str]:
    return [word for word in (backend / "ran").read_text().split() if word != "stack"]


def ended() -> int:
    """A process id that nothing has any more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


@pytest.mark.parametrize(("host", "pid"), [("here", ended), ("here", os.getpid), ("elsewhere", ended)])
def test_a_lock_of_a_pulumi_that_no_command_started_is_left_alone(backend: Path, host: str, pid: object) -> None:
    assert callable(pid)
    (backend / "lock").write_text(LOCKED.format(host=host, pid=(number := pid())))
    with pytest.raises(StackLockedError, match=rf"locked by root@{host} \(pid {number}\) since 2026.* `pulumi cancel`"):
        Engine("dev").up("test", refresh=True)
    assert ran(backend) == ["up"]


def test_the_lock_of_a_pulumi_that_was_started_here_and_killed_is_removed(
    backend: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIES", LOCKED.replace("{host}", "here"))
    with pytest.raises(EngineError):
        Engine("dev").up("test", refresh=True)
    monkeypatch.delenv("DIES")
    with pytest.raises(StackLockedError):
        Engine("other").up("another stack's is no business of this command", refresh=True)
    Engine("dev").up("test", refresh=True)
    assert ran(backend) == ["up", "up", "up", "cancel", "up"]
    assert engine_locks.noted("dev") == []


def test_of_a_pulumi_in_another_container_of_this_name_nothing_is_known(backend: Path) -> None:
    pid = ended()
    Started("dev", "here", pid, began="1", boot="another boot or namespace").note()
    (backend / "lock").write_text(LOCKED.format(host="here", pid=pid))
    with pytest.raises(StackLockedError):
        Engine("dev").up("test", refresh=True)
    assert ran(backend) == ["up"]


def test_a_process_that_runs_keeps_its_lock_also_where_there_is_no_proc(
    backend: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_locks, "_began", lambda _pid: "")
    monkeypatch.setattr(engine_locks, "_boot", lambda: "")
    Started.of("dev", os.getpid()).note()
    (backend / "lock").write_text(LOCKED.format(host="here", pid=os.getpid()))
    with pytest.raises(StackLockedError):
        Engine("dev").up("test", refresh=True)
    assert ran(backend) == ["up"]


def test_two_commands_do_not_both_remove_a_lock(backend: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = ended()
    Started.of("dev", pid).note()
    (backend / "lock").write_text(LOCKED.format(host="here", pid=pid))
    known = engine_locks.noted("dev")
    monkeypatch.setattr(engine_locks, "noted", lambda _stack: known)
    Engine("dev").up("the first", refresh=True)
    (backend / "lock").write_text(LOCKED.format(host="here", pid=pid))
    with pytest.raises(StackLockedError):
        Engine("dev").up("the second read the note before", refresh=True)
    assert ran(backend) == ["up", "cancel", "up", "up"]


def test_whether_a_stack_is_locked_is_asked_without_a_change(backend: Path) -> None:
    Engine("dev").refuse_locked()
    (backend / "lock").write_text("error: [409] Conflict: Another update is currently in progress.")
    with pytest.raises(StackLockedError, match="locked by another update"):
        Engine("dev").refuse_locked()
    assert ran(backend) == ["refresh", "refresh"]


def test_an_update_that_fails_for_another_reason_says_so(backend: Path) -> None:
    (backend / "lock").write_text("error: no credentials")
    with pytest.raises(EngineError, match="`pulumi refresh` failed: error: no credentials") as error:
        Engine("dev").refuse_locked()
    assert not isinstance(error.value, StackLockedError)


def test_a_user_without_a_home_may_update_and_no_lock_is_removed(
    backend: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", nowhere)
    Engine("dev").up("test", refresh=False)
    (backend / "lock").write_text(LOCKED.format(host="here", pid=ended()))
    with pytest.raises(StackLockedError):
        Engine("dev").up("test", refresh=False)
    assert ran(backend) == ["up", "up"]


def test_a_note_that_was_cut_off_is_none(backend: Path) -> None:
    Started.of("dev", 1).note()
    [path] = (backend / "state" / "nomad-stateful" / "pulumi").iterdir()
    path.write_text(json.dumps({"stack": "dev"})[:5])
    assert engine_locks.noted("dev") == []
