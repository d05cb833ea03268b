"""A restore by the operator's command: what it waits for, and what it says."""

import contextlib
import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from nomad_stateful.operate import frame, restore, stack
from nomad_stateful.operate.drill.model import Options
from nomad_stateful.operate.drill.report import Report
from nomad_stateful.operate.engine import StackLockedError
from nomad_stateful.operate.errors import OperateError, TimedOutError
from nomad_stateful.operate.exclusive import BusyError
from nomad_stateful.operate.frame import Frame, NotConfirmedError
from nomad_stateful.waiting import RetryPolicy
from tests.fake_nomad import FakeNomad
from tests.fake_nomad.answers import Asked
from tests.fake_nomad.jobs import ended
from tests.unit.operate.commands import parsed
from tests.unit.operate.group import OUTPUTS as GROUP_OUTPUTS

YES = Frame("restore", yes=True)
JOB, DUMP = "mysql-backup-restore/dispatch-1", "20260101T030000Z.sql.gz"
OUTPUTS = {
    "mysql": {"namespace": "data", "volume": "mysql"},
    "mysqlBackup": {"job": "mysql-backup", "restoreJob": "mysql-backup-restore", "s3": "s3://dumps/nomad/"},
}


def restoring(nomad: FakeNomad, ends: str, killed: int = 0) -> None:
    """The restore's allocation is placed once it is asked for again, since then its volume is free."""
    states = {"fetch": ended(int(ends == "failed")), "restore": ended(killed, killed=bool(killed))}
    first = {"ID": "0123456789abcdef", "Namespace": "data", "ClientStatus": ends, "TaskStates": states}
    first["NodeName"] = "client-1"
    found = [first]
    if ends == "lost" or killed:
        # Nomad places it whatever the job says of rescheduling; it waits for the volume.
        found.append({**first, "ID": "fedcba9876543210", "ClientStatus": "pending", "TaskStates": {}})
    nomad.put("job/mysql-backup-restore", {}, "data")
    nomad.put(f"job/{JOB}/allocations", lambda: found if ends and nomad.sent(f"job/{JOB}/evaluate") else [], "data")


def run_of(status: str) -> dict[str, Any]:
    """A run of the restore job."""
    return {"ParentID": "mysql-backup-restore", "Type": "batch", "Dispatched": True, "Status": status}


@pytest.fixture(autouse=True)
def others(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The stack and its cluster; whether another command or pulumi changes it; what was written by each turn's end."""
    found = SimpleNamespace(busy=False, locked=False, turns=[])

    @contextlib.contextmanager
    def exclusive(_nomad: Any, what: str) -> Iterator[None]:
        if found.busy:
            raise BusyError(f"{what} beside another")
        try:
            yield
        finally:
            found.turns.append(nomad.writes)

    def refuse_locked() -> None:
        if found.locked:
            raise StackLockedError("the stack is locked by ci@runner")

    monkeypatch.setattr(frame, "stack_cluster", lambda volume: {"mysql": nomad}[volume].client(RetryPolicy()))
    monkeypatch.setattr(frame, "exclusive", exclusive)
    monkeypatch.setattr(restore, "Engine", lambda _: SimpleNamespace(refuse_locked=refuse_locked))
    monkeypatch.setattr(restore, "_ASK_AGAIN_S", 0.0)
    monkeypatch.setattr(stack, "outputs", lambda: OUTPUTS)
    return found


def run(*words: str) -> None:
    restore.COMMAND.run(parsed(restore.COMMAND, *words))


def test_a_restore_that_waits_for_the_volume_is_asked_for_again(
    nomad: FakeNomad, capsys: pytest.CaptureFixture[str]
) -> None:
    restoring(nomad, "complete")
    restore.restore(YES, DUMP, "volume", 10)
    assert nomad.sent("job/mysql-backup-restore/dispatch") == [{"Meta": {"dump": DUMP}}]
    assert nomad.writes == ["PUT job/mysql-backup-restore/dispatch", f"PUT job/{JOB}/evaluate"]
    assert (
        capsys.readouterr().out
        == "restored. `nomad alloc logs -namespace data 01234567 restore` says from which dump\n"
    )


def test_a_restore_that_fails_or_does_not_begin_is_told_with_what_to_look_at(nomad: FakeNomad) -> None:
    restoring(nomad, "failed")
    with pytest.raises(OperateError, match="nomad alloc logs -stderr -namespace data 01234567 fetch"):
        restore.restore(YES, DUMP, "volume", 10)
    nomad.put(f"job/{JOB}", None, "data")
    restoring(nomad, "")
    with pytest.raises(TimedOutError, match="nomad job eval -namespace data mysql-backup-restore/dispatch-1"):
        restore.restore(YES, DUMP, "volume", 0)


def test_a_dispatch_whose_answer_an_election_lost_is_not_made_twice(
    nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def committed(asked: Asked) -> None:
        nomad.after.clear()
        token = asked.query.get("idempotency_token")
        nomad.put(f"job/{JOB}", run_of("pending") | {"DispatchIdempotencyToken": token}, "data")

    restoring(nomad, "complete")
    nomad.refuse("job/mysql-backup-restore/dispatch", 500, "leadership lost while committing log", times=1)
    nomad.after["PUT job/mysql-backup-restore/dispatch"] = committed
    monkeypatch.setattr(frame, "stack_cluster", lambda _: nomad.client(RetryPolicy(30, pauses_s=[0])))
    restore.restore(YES, DUMP, "volume", 10)
    assert len(nomad.sent("job/mysql-backup-restore/dispatch")) == 2
    assert f"job/{JOB}@data" in nomad.records
    assert "job/mysql-backup-restore/dispatch-2@data" not in nomad.records
    assert f"==> {JOB} restores {DUMP}" in capsys.readouterr().err


def test_an_interrupted_restore_goes_on_and_says_how_it_is_given_up(
    nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    restoring(nomad, "")
    monkeypatch.setattr(restore, "wait_for", interrupt)
    with pytest.raises(
        OperateError, match=f"interrupted: {JOB} goes on: .*`nomad job stop -namespace data {JOB}` gives it up"
    ):
        restore.restore(YES, DUMP, "volume", 10)


@pytest.mark.parametrize(
    ("status", "stop"),
    [("pending", rf", or stop it before it begins \(`nomad job stop -namespace data {JOB}`\)"), ("running", "")],
)
def test_beside_a_restore_that_has_not_ended_none_is_dispatched(nomad: FakeNomad, status: str, stop: str) -> None:
    restoring(nomad, "complete")
    nomad.put(f"job/{JOB}", run_of(status), "data")
    nomad.put("job/other-restore/dispatch-1", run_of(status) | {"ParentID": "other-restore"}, "data")
    with pytest.raises(
        OperateError, match=rf"^{JOB} is {status}: .*`nomad job status -namespace data {JOB}`\){stop}, and run"
    ):
        restore.restore(YES, DUMP, "volume", 10)
    assert nomad.writes == []
    nomad.put(f"job/{JOB}", run_of("dead"), "data")
    with pytest.raises(TimedOutError, match="mysql-backup-restore/dispatch-2"):
        restore.restore(YES, DUMP, "volume", 0)


@pytest.mark.parametrize(
    ("ends", "killed", "why"),
    [
        ("lost", 0, "was lost with its client client-1: how far it came is not known"),
        ("failed", 0, "failed"),
        ("complete", 143, "was stopped before its end: how far it came is not known"),
    ],
)
def test_a_restore_that_did_not_end_well_does_not_run_again_later(
    nomad: FakeNomad, others: SimpleNamespace, ends: str, killed: int, why: str
) -> None:
    restoring(nomad, ends, killed)
    with pytest.raises(OperateError, match=f"{JOB} {why}"):
        restore.restore(YES, DUMP, "volume", 10)
    assert nomad.writes[-1] == f"DELETE job/{JOB}"
    assert others.turns == [["PUT job/mysql-backup-restore/dispatch", f"PUT job/{JOB}/evaluate", f"DELETE job/{JOB}"]]


@pytest.mark.parametrize(
    ("other", "said"), [("busy", "restore latest beside another"), ("locked", "locked by ci@runner")]
)
def test_beside_another_command_no_table_is_dropped(
    nomad: FakeNomad, others: SimpleNamespace, other: str, said: str
) -> None:
    restoring(nomad, "complete")
    setattr(others, other, True)
    with pytest.raises(OperateError, match=said):
        restore.restore(YES, "latest", "volume", 1)
    assert not nomad.writes


def test_a_stack_without_dumps_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "outputs", lambda: {"mysql": {"namespace": "data"}})
    with pytest.raises(OperateError, match=r"set mysql\.backup"):
        restore.restore(YES, "latest", "volume", 1)


def test_no_table_is_dropped_before_somebody_says_yes(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    with pytest.raises(NotConfirmedError, match="Every table in dump latest on the dumps' volume is dropped"):
        restore.restore(Frame("restore", yes=False), "latest", "volume", 1)
    assert nomad.requests == []


def test_a_restore_from_s3_names_its_source(nomad: FakeNomad, capsys: pytest.CaptureFixture[str]) -> None:
    restoring(nomad, "complete")
    restore.restore(YES, DUMP, "s3", 10)
    assert nomad.sent("job/mysql-backup-restore/dispatch")[0] == {"Meta": {"dump": DUMP, "from": "s3"}}
    assert f"restores {DUMP} in s3://dumps/nomad/" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--snapshot", "snap-1"], "--snapshot is for a restore to a point in time: add --to"),
        (["--json"], "--json is for a restore to a point in time: add --to"),
        (["20260101T030000Z.sql.gz", "--to", "latest"], "name no dump, and leave --from out"),
        (["--from", "s3", "--to", "latest"], "name no dump, and leave --from out"),
    ],
)
def test_options_of_the_other_kind_of_restore_are_refused(words: list[str], why: str) -> None:
    with pytest.raises(OperateError, match=why):
        run(*words)


MOMENT = datetime(2026, 11, 22, 10, 15, tzinfo=UTC)


def test_a_restored_moment_goes_on_as_a_single_server_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(restore, "drill", lambda *_: Report("mysql[0]", MOMENT, to=MOMENT, kept="snap-2"))
    monkeypatch.setattr(stack, "outputs", lambda: GROUP_OUTPUTS)
    monkeypatch.setattr(stack, "tag", lambda: "shop/prod")
    run("--to", "2026-11-22T10:15:00Z", "--yes")
    said = capsys.readouterr().out
    assert "a stack of its own" in said
    assert "snapshotId: snap-2\n    snapshotStack: shop/prod" in said
    assert "mysql.volume" not in said


def test_a_restore_to_a_point_in_time_keeps_a_snapshot_and_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Options] = []

    def drilled(_frame: Frame, options: Options) -> Report:
        asked.append(options)
        return Report("mysql", MOMENT, to=MOMENT, kept="snap-2")

    monkeypatch.setattr(restore, "drill", drilled)
    run("--to", "2026-11-22T10:15:00Z", "--yes")
    assert asked == [Options("", to="2026-11-22T10:15:00+00:00", keep=True, timeout_s=3600)]
    said = capsys.readouterr().out
    assert "name: mysql-20261122-101500" in said
    assert "snapshotId: snap-2" in said


def test_a_restore_from_s3_where_nothing_is_copied_there_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    without = OUTPUTS | {"mysqlBackup": OUTPUTS["mysqlBackup"] | {"s3": ""}}
    monkeypatch.setattr(stack, "outputs", lambda: without)
    with pytest.raises(OperateError, match=r"set mysql\.backup\.s3"):
        restore.restore(YES, "latest", "s3", 1)
