"""An upgrade of MySQL: its order, what is refused, what is done where it fails, and that it goes on after a kill."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.upgrades import UpgradeRefusedError
from nomad_stateful.errors import ProviderError
from nomad_stateful.operate import frame, stack
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.exclusive import BusyError
from nomad_stateful.operate.frame import Frame
from nomad_stateful.operate.upgrade_database import command, plan, server, steps
from nomad_stateful.operate.upgrade_database.server import Server
from nomad_stateful.operate.upgrade_database.steps import StoppedError, WentBackError
from tests.unit.operate.commands import result_of
from tests.unit.operate.upgrade_database.world import (
    AFTER,
    BEFORE,
    JOB,
    VOLUME,
    FakeDatabase,
    FakeEngine,
    FakeNomad,
    FakeSnapshots,
    World,
    arguments,
)


@contextlib.contextmanager
def alone(_nomad: Any, _command: str) -> Iterator[Any]:
    yield lambda: None


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    nomad: Any = FakeNomad(made)
    outputs = SimpleNamespace(kind=DATABASES["mysql"], job=JOB, namespace="default", volume=VOLUME, tls="required")
    outputs.backup = {"restoreJob": "mysql-restore"}
    monkeypatch.setattr(stack, "database_outputs", lambda: outputs)
    monkeypatch.setattr(stack, "chosen", lambda: "prod")
    monkeypatch.setattr(frame, "stack_cluster", lambda _: nomad)
    monkeypatch.setattr(command, "Database", SimpleNamespace(of=lambda _: FakeDatabase(made)))
    monkeypatch.setattr(command, "Engine", lambda _: FakeEngine(made))
    monkeypatch.setattr(frame, "exclusive", alone)
    monkeypatch.setattr(server, "connect", lambda: nomad)
    for module in (plan, steps):
        monkeypatch.setattr(module, "Snapshots", lambda _: FakeSnapshots(made))
    monkeypatch.setattr(
        steps, "Probe", lambda *_: SimpleNamespace(run=lambda after: made.step(f"tries {after}, {made.locked}"))
    )
    return made


def upgrade(**given: Any) -> None:
    known: Any = arguments(**given)
    command.COMMANDS[0].run(known)


def refused(**given: Any) -> str:
    with pytest.raises(UpgradeRefusedError) as error:
        upgrade(**given)
    assert error.value.exit_status == 4
    return str(error.value)


def test_the_image_is_tried_then_writes_wait_for_a_snapshot_and_until_the_new_one_answers(world: World) -> None:
    result = result_of(upgrade)
    assert world.done == ["tries 9.7.4, False", "first snapshot", "snapshot", f"sets {AFTER}", "registered", "up"]
    assert (world.runs, world.image) == ("9.7.4", AFTER)
    assert result["ok"] is True
    assert (result["from"], result["to"], result["snapshotId"], result["tables"]) == ("8.4.4", "9.7.4", "snap-1", 1)
    assert result["awayS"] >= 0
    assert [one.id for one in world.snapshots] == ["snap-1"], "the first one is dropped"


def test_a_dry_run_changes_nothing(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    told = result_of(upgrade, dry_run=True)
    said = capsys.readouterr().err
    assert (told["dryRun"], told["from"], told["to"], told["image"]) == (True, "8.4.4", "9.7.4", AFTER)
    for words in ("8.4.4 -> 9.7.4", f"{BEFORE} -> {AFTER}", f"snapshot of volume {VOLUME}", "mysql-job"):
        assert words in said
    assert not world.done
    assert world.image == BEFORE


def test_the_version_that_runs_is_nothing_to_do(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    upgrade(version="8.4.4", json=False)
    assert capsys.readouterr().out == "nothing to do\n"
    assert not world.done


def test_the_command_of_another_database_upgrades_nothing(world: World) -> None:
    other = replace(DATABASES["mysql"], name="other", title="Other")
    known: Any = arguments()
    with pytest.raises(UpgradeRefusedError, match="the stack's database is MySQL: `nomad-stateful upgrade-mysql`"):
        command.upgrade(other, Frame("upgrade-other", yes=True), known)
    assert not world.done


def test_a_server_that_cannot_hold_its_writes_has_one_snapshot_of_before(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FakeDatabase, "holds_writes", False)
    monkeypatch.setattr(FakeDatabase, "read_only", None)
    monkeypatch.setattr(FakeSnapshots, "needs_lock", False)
    assert result_of(upgrade)["writesWaitedS"] is None
    assert world.done == ["tries 9.7.4, False", "snapshot", f"sets {AFTER}", "registered", "up"]
    said = capsys.readouterr().err
    assert "snapshot of volume mysql is taken, with all that was acknowledged until it was begun" in said
    assert "writes wait" not in said.lower()


def _option(world: World) -> None:
    world.config["nomad-stateful:mysql"]["config"] = {"expire_logs_days": 3}


def _other_image(world: World) -> None:
    world.config["nomad-stateful:mysql"]["image"] = "mysql:8.4.5"


@pytest.mark.parametrize("which", ["snap-0", "snap-1"])
def test_no_new_server_starts_on_a_snapshot_that_fails(world: World, which: str) -> None:
    world.snapshot_fails = which
    with pytest.raises(ProviderError, match="KMS"):
        upgrade()
    assert world.untouched


@pytest.mark.parametrize("after", ["first snapshot", "snapshot", f"sets {AFTER}"])
def test_writes_do_not_wait_for_another_pulumi(world: World, after: str) -> None:
    world.other_pulumi = after
    with pytest.raises(OperateError, match="locked by ci@runner"):
        upgrade()
    assert world.untouched


def test_an_update_that_finds_another_pulumi_leaves_everything_as_it_was(world: World) -> None:
    world.other_pulumi = f"sets {AFTER}"
    with pytest.raises(OperateError, match=r"locked by ci@runner .*\. Nothing was changed, and writes go on"):
        upgrade()
    assert world.done[-1] == f"sets {BEFORE}"


def test_beside_another_command_nothing_is_begun(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(_nomad: Any, what: str) -> None:
        raise BusyError(f"{what} beside another")

    monkeypatch.setattr(frame, "exclusive", busy)
    with pytest.raises(BusyError, match=r"upgrade-mysql 9.7.4 beside another"):
        upgrade()
    assert world.done == []


def test_rows_that_were_acknowledged_after_the_snapshot_are_noticed_before_the_update(world: World) -> None:
    world.session_ends = True
    with pytest.raises(OperateError, match=r"has ended .*rows may have been acknowledged that snap-1 has not. Nothing"):
        upgrade()
    assert world.untouched


def test_what_else_an_update_would_do_by_then_is_not_done_along(world: World) -> None:
    first = world.step

    def step(what: str) -> None:
        if what == "first snapshot":
            world.ops = "replace"
        first(what)

    world.step = step  # type: ignore[method-assign]
    with pytest.raises(OperateError, match=r"changes are others than before the question.*\. Nothing was changed"):
        upgrade()
    assert world.untouched


def test_an_image_that_somebody_else_set_meanwhile_is_not_upgraded_over(world: World) -> None:
    first, seen = world.step, world.registered

    def step(what: str) -> None:
        if what == "first snapshot":
            seen.append("mysql:8.4.5")
        first(what)

    world.step = step  # type: ignore[method-assign]
    with pytest.raises(OperateError, match=r"has mysql:8.4.5 now: somebody else changes it. Nothing was changed"):
        upgrade()
    assert not world.locked


RESTORE = {"ID": "mysql-restore/dispatch-1", "ParentID": "mysql-restore", "Status": "pending"}


def test_a_server_that_a_restore_writes_to_is_not_stopped(world: World) -> None:
    world.runs_of_jobs = [RESTORE]
    assert "mysql-restore/dispatch-1 is pending: it drops the tables" in refused()
    world.runs_of_jobs = [RESTORE | {"Status": "dead"}]
    first = world.step

    def step(what: str) -> None:
        if what == "snapshot":
            world.runs_of_jobs = [RESTORE]
        first(what)

    world.step = step  # type: ignore[method-assign]
    with pytest.raises(OperateError, match="mysql-restore/dispatch-1 is pending"):
        upgrade()
    assert world.untouched


def _set(name: str, value: Any) -> Any:
    return lambda world: setattr(world, name, value)


@pytest.mark.parametrize(
    ("makes", "why"),
    [
        (_option, "MySQL 8.4 removed expire_logs_days"),
        (_other_image, "mysql.image is mysql:8.4.5 in the settings, and mysql:8.4.4 runs"),
        (_set("runs", ""), "MySQL does not answer, and only a server that runs is upgraded"),
        (_set("runs", "10.11.6-MariaDB"), "the server is MariaDB"),
        (_set("runs", "8.0.40"), "goes to 8.4 first"),
        (_set("registered", ["mariadb:11.4.2"]), "MariaDB's"),
        (_set("other_changes", "~ volume"), "other pending changes"),
        (_set("ops", "replace"), "do more than change what is there: mysql-job"),
        (_set("has", {"mysql.user": ["app@%"]}), r"accounts app@%: MySQL 9.7.4 lets none of them log in"),
        (_set("has", {"XA RECOVER": ["1"]}), "XA transactions are prepared"),
        (_set("has", {"'float'": ["shop.a.id"]}), "columns shop.a.id"),
    ],
)
def test_what_cannot_be_upgraded_is_refused_before_anything_is_done(world: World, makes: Any, why: str) -> None:
    makes(world)
    assert why in refused()
    assert not world.done


def test_a_downgrade_is_refused(world: World) -> None:
    world.runs = world.files = "9.7.4"
    assert "an older one does not start on its files" in refused(version="8.4.4")
    assert not world.done


def test_without_a_snapshot_there_is_no_upgrade(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise ProviderError("EC2 does not take a snapshot of vol-1: UnauthorizedOperation")

    monkeypatch.setattr(plan, "Snapshots", lambda _: FakeSnapshots(world, none))
    assert "no way back from an upgrade. Where EC2 can take none: have a dump made and tried" in refused()
    assert not world.done


def test_nobody_who_says_no_has_anything_changed(world: World) -> None:
    with pytest.raises(OperateError, match="add --yes"):
        upgrade(yes=False)
    assert not world.done


def killed(world: World, step: str) -> None:
    """Upgrades until it is killed at the end of this step."""
    world.dies_at = step
    with pytest.raises(OperateError, match="run the same command to resume"):
        upgrade()


@pytest.mark.parametrize("step", ["tries", "snapshot", f"sets {AFTER}", "registered", "up"])
def test_after_a_kill_the_same_command_goes_on(world: World, step: str) -> None:
    killed(world, step)
    # A session ends with its client, and Nomad starts what is registered.
    if world.registered[-1] == AFTER:
        world.start(AFTER)
    answered = world.runs == "9.7.4"
    world.done.clear()
    upgrade()
    assert (world.runs, world.image, world.registered[-1]) == ("9.7.4", AFTER, AFTER)
    # Where the server of before had run on, rows were acknowledged since: the snapshot is another.
    assert ("snapshot" in world.done) == (not answered)
    assert result_of(upgrade)["phase"] == "done"


def test_an_upgrade_that_was_killed_while_the_new_server_starts_goes_on_with_its_snapshot(world: World) -> None:
    killed(world, "registered")
    assert not world.runs
    world.done.clear()
    result = result_of(upgrade)
    assert world.done == [f"sets {AFTER}", "up"]
    assert (result["from"], result["snapshotId"], result["writesWaitedS"]) == ("8.4.4", "snap-1", None)


@pytest.mark.parametrize(("new", "steps_back"), [("is refused by pulumi", []), ("is not pulled", ["reverted"])])
def test_where_the_new_server_never_started_the_one_before_comes_back(
    world: World, new: str, steps_back: list[str]
) -> None:
    world.new_server = new
    with pytest.raises(WentBackError) as error:
        upgrade()
    assert error.value.exit_status == 5
    assert "MySQL 8.4.4 runs again, and nothing was lost" in str(error.value)
    assert world.done[-len(steps_back) - 2 :] == [*steps_back, f"sets {BEFORE}", "up"]
    assert (world.runs, world.image, world.registered[-1], world.locked) == ("8.4.4", BEFORE, BEFORE, False)


@pytest.mark.parametrize("new", ["ends", "is pulled at last"])
def test_on_files_that_a_newer_server_may_have_changed_the_older_is_never_started(
    world: World, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world.new_server = new
    with pytest.raises(StoppedError) as error:
        upgrade()
    assert error.value.exit_status == 6
    assert (world.image, world.registered[-1]) == (AFTER, AFTER)
    assert "reverted" not in world.done
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is False
    assert told["snapshotId"] == "snap-1"
    for words in ("snapshotId=snap-1", f"mysql.image={BEFORE}", "mysql.volume=mysql-8-4-4"):
        assert words in told["wayBack"][1]
    assert told["wayBack"][1] in str(error.value)


@pytest.mark.parametrize(
    ("step", "has"), [("", "all that 8.4.4 acknowledged"), ("registered", "what 8.4.4 acknowledged until it was begun")]
)
def test_the_way_back_says_until_when_it_has_the_rows(world: World, step: str, has: str) -> None:
    """With a command that is killed, the session ends that had the writes wait."""
    if step:
        killed(world, step)
    world.new_server = "ends"
    with pytest.raises(StoppedError, match=f"The way back is snap-1, on a new volume; it has {has}:"):
        upgrade()


def test_a_server_that_is_slow_to_start_is_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.new_server = "is slow"
    asked: list[int] = []
    real = Server.runs

    def runs(self: Server) -> bool:
        asked.append(1)
        if len(asked) == 2:
            world.runs, world.new_server = "9.7.4", "comes up"
        return real(self)

    monkeypatch.setattr(Server, "runs", runs)
    upgrade()
    assert (world.runs, world.image) == ("9.7.4", AFTER)


def test_a_table_that_is_missing_afterwards_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = FakeEngine.up

    def loses(self: FakeEngine, why: str, *, refresh: bool) -> None:
        real(self, why, refresh=refresh)
        world.tables.clear()

    monkeypatch.setattr(FakeEngine, "up", loses)
    with pytest.raises(OperateError, match=r"lacks the tables shop.orders, .*\. snap-1 has them"):
        upgrade()
