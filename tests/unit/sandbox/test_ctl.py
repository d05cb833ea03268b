"""`sandbox ctl …`: faults and a way in, for who has the sandbox's command alone."""

from pathlib import Path

import pytest

from sandbox.__main__ import main
from sandbox.cloud.faults import Fault, fault_file, read
from sandbox.settings import HOME_VARIABLE, load_settings


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    file = fault_file(load_settings())
    file.parent.mkdir()
    return file


def test_its_words_and_options_are_passed_on(faults: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ctl", "fault", "on", "throttle", "--action", "Describe*", "--count", "2"]) == 0
    (fault,) = read(faults)
    assert fault == Fault("throttle", "throttle", "Describe*", count=2, serial=fault.serial)
    assert main(["ctl", "fault", "off"]) == 0
    assert capsys.readouterr().out == "throttle\n"


class Entered(Exception):
    """A command inside an instance is begun."""


def test_a_command_inside_an_instance_has_every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(_file: str, words: list[str]) -> None:
        raise Entered(*words)

    monkeypatch.setattr("sandbox.cloud.ctl.inventory.enter", lambda name, _settings: ["nsenter", name])
    monkeypatch.setattr("os.execvp", begin)
    with pytest.raises(Entered) as entered:
        main(["ctl", "enter", "client-1", "sh", "-ec", 'ls "$@"', "--", "-l", "--", "--all"])
    assert entered.value.args == ("nsenter", "client-1", "sh", "-ec", 'ls "$@"', "--", "-l", "--", "--all")


def test_its_help_names_the_command_that_was_called(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["ctl", "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: python -m sandbox ctl [-h]")


@pytest.mark.parametrize("act", ["kill", "cut", "heal", "stop", "start", "enter"])
def test_an_instance_that_is_not_there_is_refused(act: str, faults: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ctl", act, "client-9"]) == 1
    assert "there is no such instance" in capsys.readouterr().err
