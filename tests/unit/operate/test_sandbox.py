"""`nomad-stateful sandbox`, whose commands are another package's."""

import sys
from argparse import ArgumentParser, Namespace
from types import SimpleNamespace

import pytest

from nomad_stateful.operate import __main__ as command_line
from nomad_stateful.operate import sandbox
from nomad_stateful.version import VERSION


def test_without_its_package_it_says_which_one_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sandbox, "entry_points", lambda **_: [])
    monkeypatch.setattr(sys, "argv", ["nomad-stateful", "sandbox", "up", "--tls"])
    assert command_line.main() == 1
    assert f"pip install nomad_stateful_sandbox-{VERSION}-py3-none-any.whl, the file" in capsys.readouterr().err


def test_its_packages_commands_run_and_their_status_is_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Namespace] = []

    class Installed:
        def add_commands(self, parser: ArgumentParser) -> None:
            parser.add_subparsers().add_parser("up").add_argument("--stack")

        def run(self, arguments: Namespace) -> int:
            ran.append(arguments)
            return 3

    found = {sandbox.GROUP: [SimpleNamespace(load=Installed)]}
    monkeypatch.setattr(sandbox, "entry_points", lambda *, group: found[group])
    monkeypatch.setattr(sys, "argv", ["nomad-stateful", "sandbox", "up", "--stack", "prod"])
    with pytest.raises(SystemExit, match=r"^3$"):
        command_line.main()
    assert ran[0].stack == "prod"
