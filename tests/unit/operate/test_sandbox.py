"""`nomad-stateful sandbox`, whose commands are another package's."""

from argparse import ArgumentParser, Namespace
from types import SimpleNamespace

import pytest

from nomad_stateful.operate import sandbox
from nomad_stateful.version import VERSION
from tests.unit.operate.conftest import Operate


def test_without_its_package_it_says_which_one_to_install(operate: Operate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "entry_points", lambda **_: [])
    ended = operate("sandbox", "up", "--tls")
    assert ended.status == 1
    assert f"pip install nomad_stateful_sandbox-{VERSION}-py3-none-any.whl, the file" in ended.err


def test_its_packages_commands_run_and_their_status_is_the_programs(
    operate: Operate, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Namespace] = []

    class Installed:
        def add_commands(self, parser: ArgumentParser) -> None:
            parser.add_subparsers().add_parser("up").add_argument("--stack")

        def run(self, arguments: Namespace) -> int:
            ran.append(arguments)
            return 3

    found = {sandbox.GROUP: [SimpleNamespace(load=Installed)]}
    monkeypatch.setattr(sandbox, "entry_points", lambda *, group: found[group])
    assert operate("sandbox", "up", "--stack", "prod").status == 3
    assert ran[0].stack == "prod"
