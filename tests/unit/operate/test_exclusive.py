"""One command at a time changes a stack: who is refused, who goes on after a kill, and who has lost its turn."""

from __future__ import annotations

import pytest

from nomad_stateful.nomad.api import NomadApiError
from nomad_stateful.operate import exclusive as turns
from nomad_stateful.operate import stack
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.exclusive import BusyError, VariableLock, exclusive
from tests.fake_nomad import FakeNomad

PATH = "nomad/jobs/nomad-stateful/operators/shop~2eeu/prod"
VARIABLE = f"var/{PATH}@data"


@pytest.fixture
def nomad(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> FakeNomad:
    monkeypatch.setattr(stack, "tag", lambda: "shop.eu/prod")
    monkeypatch.setattr(stack, "config", lambda: {"nomad-stateful:placement": {"namespace": "data"}})
    monkeypatch.setattr(turns, "_RENEW_S", 0.01)
    monkeypatch.setattr(turns, "FREED_AFTER_S", 0)
    monkeypatch.setattr(turns, "_GRACE_S", 0.1)
    monkeypatch.setattr(turns, "_POLL_S", 0.01)
    return nomad


def expire(nomad: FakeNomad) -> None:
    """What Nomad does with a lock that is not renewed."""
    nomad.records[VARIABLE].pop("Lock", None)


def test_a_second_command_is_refused_and_told_who_has_the_stack(nomad: FakeNomad) -> None:
    with (
        exclusive(nomad.api, "move mysql"),
        pytest.raises(
            BusyError,
            match=r"`nomad-stateful move mysql` of \S+@\S+ \(pid \d+\) changes the stack since \d{4}-.*one at",
        ),
        exclusive(nomad.api, "upgrade-driver"),
    ):
        pytest.fail("both change the stack")
    with exclusive(nomad.api, "upgrade-driver"):
        assert nomad.records[VARIABLE]["Items"]["command"] == "upgrade-driver"
    assert VARIABLE not in nomad.records


def test_a_command_that_was_killed_is_waited_for(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody renews it.
    nomad.put(f"var/{PATH}", {"Lock": {"ID": "killed"}, "Items": {"command": "move mysql"}}, namespace="data")
    take = VariableLock.take

    def expires(self: VariableLock) -> bool:
        taken = take(self)
        expire(nomad)
        return taken

    with monkeypatch.context() as patched:
        patched.setattr(VariableLock, "take", expires)
        with exclusive(nomad.api, "move mysql") as refuse_lost:
            refuse_lost()


def test_a_command_whose_lock_nomad_freed_takes_it_again(nomad: FakeNomad) -> None:
    with exclusive(nomad.api, "move mysql") as refuse_lost:
        expire(nomad)
        wait_for("it has the lock again", lambda: nomad.records[VARIABLE].get("Lock"), 10, "", poll_s=0.005)
        refuse_lost()


def test_a_command_that_lost_its_turn_stops_before_its_next_step(nomad: FakeNomad) -> None:
    with exclusive(nomad.api, "move mysql") as refuse_lost:
        items = {"command": "upgrade-mysql 9.7.4", "by": "b@host (pid 1)", "since": "now"}
        nomad.put(f"var/{PATH}", {"Lock": {"ID": "another's"}, "Items": items}, namespace="data")

        def lost() -> str | None:
            try:
                refuse_lost()
            except BusyError as error:
                return str(error)
            return None

        said = wait_for("it knows", lost, 10, "", poll_s=0.005)
        assert "`nomad-stateful upgrade-mysql 9.7.4` of b@host (pid 1) changes the stack since now" in said
    assert nomad.records[VARIABLE]["Lock"] == {"ID": "another's"}


@pytest.mark.parametrize("killed", [True, False])
def test_a_turn_that_another_command_had_is_lost_though_that_has_ended(
    nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch, *, killed: bool
) -> None:
    # As while it is suspended.
    monkeypatch.setattr(turns, "_RENEW_S", 600)
    with exclusive(nomad.api, "move mysql") as refuse_lost:
        expire(nomad)
        other = VariableLock(nomad.api, "data", PATH, nomad.records[VARIABLE]["Items"])
        assert other.take()
        if killed:
            expire(nomad)
        else:
            other.free()
        # It has the lock again, and not its turn.
        for _ in range(2):
            with pytest.raises(BusyError, match="another command has changed the stack: it began when"):
                refuse_lost()
            assert nomad.records[VARIABLE]["Lock"]
    assert VARIABLE not in nomad.records
    other.free()


def test_a_command_that_may_not_renew_its_lock_stops_before_its_next_step(nomad: FakeNomad) -> None:
    with exclusive(nomad.api, "move mysql") as refuse_lost:
        nomad.refuse(f"var/{PATH}", 403, "Permission denied")
        with pytest.raises(NomadApiError, match="Permission denied"):
            refuse_lost()
