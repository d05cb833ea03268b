"""One command at a time changes a stack: who is refused, who goes on after a kill, and who has lost its turn."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

from nomad_stateful.nomad.api import NomadApiError
from nomad_stateful.operate import exclusive as turns
from nomad_stateful.operate import stack, variable_lock
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.exclusive import BusyError, exclusive
from nomad_stateful.operate.variable_lock import VariableLock

PATH = "nomad/jobs/nomad-stateful/operators/shop~2eeu/prod"


class Variables:
    """Nomad's variables with locks, as far as they are asked: it frees none by itself."""

    def __init__(self) -> None:
        self.locked: dict[str, str] = {}
        self.items: dict[str, dict[str, str]] = {}
        self.renewed = threading.Event()
        self._ids = (f"lock-{number}" for number in itertools.count())

    def put(self, path: str, body: dict[str, Any], **params: Any) -> Any:
        assert (path, params.pop("namespace")) == (f"var/{body['Path']}", "data")
        [operation] = params
        if operation == "lock-acquire":
            if path in self.locked:
                raise NomadApiError(409, "lock is held")
            self.locked[path], self.items[path] = next(self._ids), body["Items"]
            return {"Lock": {"ID": self.locked[path]}}
        if self.locked.get(path) != body["Lock"]["ID"]:
            raise NomadApiError(409, "lock not found")
        if operation == "lock-release":
            del self.locked[path]
        self.renewed.set()
        return {"Lock": body["Lock"]}

    def find(self, path: str, **_: Any) -> Any:
        return {"Items": self.items[path]} if path in self.items else None

    def delete(self, path: str, **_: Any) -> None:
        assert path not in self.locked
        del self.items[path]

    def expire(self) -> None:
        """What Nomad does with locks that are not renewed."""
        self.locked.clear()


@pytest.fixture
def nomad(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(stack, "tag", lambda: "shop.eu/prod")
    monkeypatch.setattr(stack, "config", lambda: {"nomad-stateful:placement": {"namespace": "data"}})
    monkeypatch.setattr(variable_lock, "_RENEW_S", 0.01)
    monkeypatch.setattr(turns, "FREED_AFTER_S", 0)
    monkeypatch.setattr(turns, "_GRACE_S", 0.1)
    monkeypatch.setattr(turns, "_POLL_S", 0.01)
    return Variables()


def test_a_second_command_is_refused_and_told_who_has_the_stack(nomad: Any) -> None:
    with (
        exclusive(nomad, "move mysql"),
        pytest.raises(
            BusyError,
            match=r"`nomad-stateful move mysql` of \S+@\S+ \(pid \d+\) changes the stack since \d{4}-.*one at",
        ),
        exclusive(nomad, "upgrade-driver"),
    ):
        pytest.fail("both change the stack")
    with exclusive(nomad, "upgrade-driver"):
        assert nomad.items[f"var/{PATH}"]["command"] == "upgrade-driver"
    assert (nomad.locked, nomad.items) == ({}, {})


def test_a_command_that_was_killed_is_waited_for(nomad: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = VariableLock(nomad, "data", PATH, {"command": "move mysql"})
    assert killed.take()
    take = VariableLock.take

    def expires(self: VariableLock) -> bool:
        taken = take(self)
        nomad.expire()
        return taken

    with monkeypatch.context() as patched:
        patched.setattr(VariableLock, "take", expires)
        with exclusive(nomad, "move mysql") as refuse_lost:
            refuse_lost()
    killed.free()


def test_a_command_whose_lock_nomad_freed_takes_it_again(nomad: Any) -> None:
    with exclusive(nomad, "move mysql") as refuse_lost:
        nomad.expire()
        nomad.renewed.clear()
        assert nomad.renewed.wait(10)
        refuse_lost()
        assert list(nomad.locked) == [f"var/{PATH}"]


def test_a_command_that_lost_its_turn_stops_before_its_next_step(nomad: Any) -> None:
    with exclusive(nomad, "move mysql") as refuse_lost:
        nomad.locked[f"var/{PATH}"] = "another's"
        nomad.items[f"var/{PATH}"] = {"command": "upgrade-mysql 9.7.4", "by": "b@host (pid 1)", "since": "now"}

        def lost() -> str | None:
            try:
                refuse_lost()
            except BusyError as error:
                return str(error)
            return None

        said = wait_for("it knows", lost, 10, "", poll_s=0.005)
        assert "`nomad-stateful upgrade-mysql 9.7.4` of b@host (pid 1) changes the stack since now" in said
    assert nomad.locked == {f"var/{PATH}": "another's"}
