"""The command: what it leaves out, and how it says that one run is repeated."""

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.faults import __main__ as command
from tools.faults.cases import disk, every_fault
from tools.faults.model import Fault
from tools.faults.plan import plan
from tools.trial.servers import MYSQL, POSTGRES, Server


def fault(name: str, cannot: Callable[[], str] = lambda: "") -> Fault:
    return Fault(name, "disk", lambda _lane, _draw: "", cannot=cannot)


def test_what_cannot_be_made_is_left_out_and_named_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = [fault("made"), fault("grown", lambda: "the kernel refuses")]
    monkeypatch.setattr(command, "every_fault", lambda *_: faults)
    assert command.main(["--list", "--runs", "1", "--seed", "1"]) == 0
    assert capsys.readouterr().out == "left out: grown: the kernel refuses\n   1  disk      made\n"
    with pytest.raises(SystemExit):
        command.main(["--list", "--only", "grown"])
    assert "no fault is left" in capsys.readouterr().err


@pytest.mark.parametrize("may", [True, False])
def test_a_volume_is_grown_just_where_the_kernel_lets_a_mounted_ext4_grow(
    may: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (grown,) = (one for one in every_fault() if one.name == "full disk, then the volume is grown")
    monkeypatch.setattr(disk, "may_grow_mounted_ext4", lambda: may)
    assert bool(grown.cannot()) is not may


def test_a_run_is_repeated_on_the_same_parts() -> None:
    (step,) = plan([fault("dockerd")], 1, 7)
    arguments = argparse.Namespace(
        seed=7, runs=1, only=["dockerd"], official=Path("/parts"), database="mysql", servers=1
    )
    words = ".venv/bin/python -m tools.faults --seed 7 --runs 1"
    assert command.repeat(step, arguments) == f"{words} --only dockerd --official /parts --run 1"
    arguments.official = None
    assert command.repeat(step, arguments) == f"{words} --only dockerd --run 1"
    arguments.database = "postgres"
    assert command.repeat(step, arguments) == f"{words} --database postgres --only dockerd --run 1"
    arguments.servers = 3
    assert command.repeat(step, arguments) == f"{words} --database postgres --servers 3 --only dockerd --run 1"


def test_what_needs_several_nomad_servers_is_a_fault_of_such_sandboxes_alone() -> None:
    zones = {one.name for one in every_fault(MYSQL, 3)} - {one.name for one in every_fault(MYSQL)}
    assert zones == {one.name for one in every_fault(MYSQL, 3) if one.family == "zone"}
    assert "zone of MySQL lost and healed" in zones


@pytest.mark.parametrize(("server", "process"), [(MYSQL, "mysqld"), (POSTGRES, "postgres")])
def test_every_fault_has_its_name_with_the_database_in_it(server: Server, process: str) -> None:
    names = {one.name for one in every_fault(server)}
    assert f"kill -9 of {process}" in names
    assert f"a {server.title} setting changed while a controller does not answer" in names
    assert len(names) == len(every_fault())
    assert not any("{" in name for name in names)
