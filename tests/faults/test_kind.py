"""What lanes are: which faults can be made on them, what starts them, and the stack that they deploy."""

import argparse
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from sandbox.settings import parse_settings
from tools.faults import __main__ as command
from tools.faults import kind as kinds
from tools.faults.cases import disk, every_fault
from tools.faults.kind import Kind
from tools.faults.model import Fault
from tools.faults.plan import plan

DOCKER = Kind(docker=True, official=Path("/parts"))


def fault(name: str, cannot: Callable[[bool], str] = lambda _docker: "") -> Fault:
    return Fault(name, "engine", lambda _lane, _draw: "", cannot=cannot)


def test_what_cannot_be_made_on_a_kind_of_sandbox_is_named_with_its_reason() -> None:
    daemon = fault("daemon", lambda docker: "" if docker else "it needs docker")
    folder = fault("folder", lambda docker: "it has none" if docker else "")
    faults = [daemon, folder, fault("both")]
    assert [one.name for one in faults if Kind().takes(one)] == ["folder", "both"]
    assert [one.name for one in faults if DOCKER.takes(one)] == ["daemon", "both"]
    assert Kind().left_out(faults) == ["left out: daemon: it needs docker"]
    assert DOCKER.left_out(faults) == ["left out: folder: it has none"]


@pytest.mark.parametrize("kind", [Kind(), DOCKER])
def test_every_family_has_faults_on_every_kind_of_sandbox(kind: Kind) -> None:
    families = {one.family for one in every_fault()}
    assert {one.family for one in every_fault() if kind.takes(one)} == families


def test_the_plan_says_what_it_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list", "--runs", "1", "--seed", "1", "--only", "process"]) == 0
    assert "left out: kill -9 of dockerd: it needs docker" in capsys.readouterr().out
    assert command.main(["--docker", "--list", "--runs", "1", "--seed", "1", "--only", "dockerd"]) == 0
    assert capsys.readouterr().out == "   1  process   kill -9 of dockerd\n"


def test_faults_that_none_of_the_kind_takes_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--list", "--only", "dockerd"])
    assert "no fault is left" in capsys.readouterr().err


def test_a_run_is_repeated_on_the_same_kind_of_sandbox() -> None:
    arguments = argparse.Namespace(seed=7, runs=1, only=["dockerd"])
    (step,) = plan([fault("dockerd")], 1, 7)
    words = ".venv/bin/python -m tools.faults --seed 7 --runs 1"
    assert command.repeat(step, DOCKER, arguments) == f"{words} --docker --official /parts --only dockerd --run 1"
    assert command.repeat(step, Kind(), arguments) == f"{words} --only dockerd --run 1"


def test_the_stack_in_containers_is_the_one_of_a_real_account_but_for_a_short_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinds, "of_sandbox", lambda _settings, _official: SimpleNamespace(tag=lambda _name: "1.2.3"))
    DOCKER.write_stack(tmp_path, parse_settings({"docker": True}, tmp_path / "home"))
    config = yaml.safe_load((tmp_path / "Pulumi.faults.yaml").read_text())["config"]
    assert config["nomad-stateful:mysql"]["stopAfterDisconnect"] == "20s"
    assert config["nomad-stateful:mysql"]["taskDriver"] == "docker"
    assert config["nomad-stateful:mysql"]["image"] == "mysql:1.2.3"


@pytest.mark.parametrize("may", [True, False])
def test_a_volume_is_grown_just_where_the_kernel_lets_a_mounted_ext4_grow(
    may: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (grown,) = (one for one in every_fault() if one.name == "full disk, then the volume is grown")
    monkeypatch.setattr(disk, "may_grow_mounted_ext4", lambda: may)
    assert [Kind().takes(grown), DOCKER.takes(grown)] == [may, may]
