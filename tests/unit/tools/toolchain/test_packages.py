"""System packages: only what is missing, with a sentence; refused clearly where they cannot be installed."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from tests.programs import make_program
from tools.packages import PackageError, Requirement, ensure_packages, one_at_a_time

WANTED = Requirement(("nsb-server", "nsb-other-server"), ("nsb-server-core",), "the database")


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def make_apt_get(folder: Path, *, provides: str = "", fails: bool = False) -> Path:
    """An apt-get that notes its arguments and "installs" one program."""
    log = folder / "apt.log"
    install = f"cp {folder}/apt-get {folder}/{provides}" if provides else ":"
    failure = "case $* in *install*) echo 'E: no such package' >&2; exit 100;; esac" if fails else ":"
    make_program(folder / "apt-get", f'echo "$*" >> {log}\n{failure}\n{install}')
    return log


@pytest.mark.parametrize("present", ["nsb-server", "nsb-other-server"])
def test_nothing_is_installed_when_any_of_the_commands_is_there(path_folder: Path, present: str) -> None:
    make_program(path_folder / present, "")
    log = make_apt_get(path_folder)
    assert ensure_packages([WANTED]) == []
    assert not log.exists()


@pytest.mark.usefixtures("as_root")
def test_what_is_missing_is_installed_and_said(path_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = make_apt_get(path_folder, provides="nsb-server")
    assert ensure_packages([WANTED]) == ["nsb-server-core"]
    update, install = log.read_text().splitlines()
    assert "update" in update
    assert install.endswith("--no-install-recommends --no-remove nsb-server-core")
    said = capsys.readouterr().err
    assert said == "packages: installing nsb-server-core (missing here: nsb-server for the database)\n"


def test_without_root_the_command_to_run_is_named(path_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    log = make_apt_get(path_folder)
    with pytest.raises(PackageError, match="sudo apt-get install --no-install-recommends nsb-server-core"):
        ensure_packages([WANTED])
    assert not log.exists()


def test_without_apt_the_missing_commands_are_named(path_folder: Path) -> None:
    with pytest.raises(PackageError, match=r"nsb-server for the database.*no apt-get"):
        ensure_packages([WANTED])


@pytest.mark.usefixtures("as_root")
def test_a_failed_install_shows_what_apt_said(path_folder: Path) -> None:
    make_apt_get(path_folder, fails=True)
    with pytest.raises(PackageError, match="no such package"):
        ensure_packages([WANTED])


@pytest.mark.usefixtures("as_root")
def test_a_package_that_does_not_bring_its_command_is_an_error(path_folder: Path) -> None:
    make_apt_get(path_folder)
    with pytest.raises(PackageError, match="missing here even after"):
        ensure_packages([WANTED])


def test_runs_that_install_wait_for_each_other(tmp_path: Path) -> None:
    other = os.open(tmp_path, os.O_RDONLY)
    with one_at_a_time(tmp_path), pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)
