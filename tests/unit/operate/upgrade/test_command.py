"""`nomad-stateful upgrade-driver` beside others: nothing is registered while somebody else changes the stack."""

from __future__ import annotations

import contextlib
from argparse import Namespace
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from nomad_stateful.operate import frame, stack
from nomad_stateful.operate.engine import Change, StackLockedError
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.exclusive import BusyError
from nomad_stateful.operate.ownership import WrongClusterError
from nomad_stateful.operate.upgrade import command
from nomad_stateful.operate.upgrade.rollout import NodeFailedError
from nomad_stateful.operate.upgrade.wanted import UpgradeRefusedError
from nomad_stateful.waiting import RetryPolicy
from tests.fake_nomad import FakeNomad

PLUGIN = {"id": "ebs", "driver": "ebs", "version": "v1.48.0", "taskDriver": "docker"}
CHANGE = Change("update", "nomad:index/job:Job", "ebs-node-job", {"jobspec": 'id = "plugin-ebs-node"'})


class World:
    """A stack with one plugin, and what the command does to it."""

    def __init__(self, nomad: FakeNomad) -> None:
        self.nomad = nomad
        self.done: list[str] = []
        self.changes = [[CHANGE], [CHANGE]]
        self.refuses: Exception | None = None
        self.asked = 0
        self.busy = False
        self.locked = False
        self.locked_later = False
        self.fails = False
        self.lost = False

    @contextlib.contextmanager
    def exclusive(self, _nomad: Any, what: str) -> Iterator[Callable[[], None]]:
        if self.busy:
            raise BusyError(f"{what} beside another")

        def refuse_lost() -> None:
            if self.lost:
                raise BusyError("another command has changed the stack")

        yield refuse_lost

    def required(self, _nomad: Any) -> None:
        self.asked += 1
        # As after the question: the plan was made in the right one.
        if self.refuses and self.asked > 1:
            raise self.refuses

    def engine(self, _name: str) -> Any:
        def refuse(locked: bool) -> None:
            if locked:
                raise StackLockedError("the stack is locked by ci@runner")

        def up(_why: str, *, refresh: bool) -> None:
            assert not refresh
            refuse(self.locked_later)
            self.done.append("up")

        return SimpleNamespace(
            changes=lambda _values: self.changes.pop(0),
            refuse_locked=lambda: refuse(self.locked),
            set=lambda _values: self.done.append("set"),
            up=up,
            pending=lambda: "",
        )

    def rollout(self, *_: Any) -> Any:
        def run() -> None:
            if self.fails:
                raise NodeFailedError("node-1 is not healthy")

        return SimpleNamespace(
            api=self.nomad.api,
            job_id="plugin-ebs-node",
            namespace="default",
            before=lambda: {"Version": 0},
            lacks=list,
            register=lambda _job: self.done.append("registered"),
            roll_back=lambda _before: self.done.append("rolled back"),
            run=run,
            done={},
        )


@pytest.fixture
def world(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(nomad)
    monkeypatch.setattr(stack, "config", lambda: {"nomad-stateful:plugins": [PLUGIN]})
    monkeypatch.setattr(stack, "chosen", lambda: "prod")
    monkeypatch.setattr(frame, "connect", lambda *, operator: None if operator else nomad.client(RetryPolicy()))
    monkeypatch.setattr(command, "ownership", SimpleNamespace(required=made.required))
    monkeypatch.setattr(frame, "ownership", SimpleNamespace(required=made.required))
    monkeypatch.setattr(frame, "exclusive", made.exclusive)
    monkeypatch.setattr(command, "Engine", made.engine)
    monkeypatch.setattr(command, "Rollout", made.rollout)
    return made


def upgrade() -> None:
    given = {"version": "v1.50.0", "plugin": "", "program": "", "downgrade": False, "node_timeout": 1.0}
    command.COMMAND.run(Namespace(**given, dry_run=False, yes=True, json=False))


def test_the_node_plugins_come_first_and_then_the_settings(world: World) -> None:
    upgrade()
    assert world.done == ["registered", "set", "up"]


def _set(name: str, value: Any) -> Callable[[World], None]:
    return lambda world: setattr(world, name, value)


@pytest.mark.parametrize(
    ("meanwhile", "error", "said"),
    [
        (_set("busy", True), BusyError, "upgrade-driver v1.50.0 beside another"),
        (_set("locked", True), StackLockedError, "locked by ci@runner"),
        (_set("changes", [[CHANGE], [CHANGE, CHANGE]]), UpgradeRefusedError, "others than before the question"),
        (_set("refuses", WrongClusterError("another cluster")), WrongClusterError, "another cluster"),
    ],
)
def test_where_somebody_else_changes_the_stack_nothing_is_registered(
    world: World, meanwhile: Callable[[World], None], error: type[OperateError], said: str
) -> None:
    meanwhile(world)
    with pytest.raises(error, match=said):
        upgrade()
    assert world.done == []


def test_another_pulumi_that_came_after_the_roll_out_undoes_nothing(world: World) -> None:
    world.locked_later = True
    with pytest.raises(OperateError, match=r"locked by ci@runner.*settings have v1.50.0, the state has v1.48.0"):
        upgrade()
    assert world.done == ["registered", "set"]


@pytest.mark.parametrize(("lost", "done"), [(False, ["registered", "rolled back"]), (True, ["registered"])])
def test_a_version_that_fails_goes_back_unless_another_command_has_had_its_turn(
    world: World, monkeypatch: pytest.MonkeyPatch, *, lost: bool, done: list[str]
) -> None:
    monkeypatch.setattr(stack, "fresh_config", lambda: {"nomad-stateful:plugins": [PLUGIN]})
    world.fails, world.lost = True, lost
    with pytest.raises(BusyError if lost else command.RolledBackError):
        upgrade()
    assert world.done == done
