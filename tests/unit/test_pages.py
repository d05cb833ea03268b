"""Where a message leads to a page: a clone has it by its name, and a wheel has brought it."""

import sys
from pathlib import Path

import pytest

from nomad_stateful import pages
from nomad_stateful.operate import __main__ as command_line
from nomad_stateful.operate import stack
from nomad_stateful.plugin_server.engine_log import told
from nomad_stateful.plugin_server.plugin import Checked, CheckFailure
from nomad_stateful.plugin_server.responses import check_response
from nomad_stateful.program.settings.errors import Problem, SettingsError

SAID = "see docs/volumes.md, Restore (docs/decisions/2026-11-22-adopt.md#why); my/docs/a.md and docs/ are others"


def test_without_a_wheel_it_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert pages.located(SAID) == SAID


def test_each_page_has_the_path_where_the_wheel_has_put_it(brought: Path) -> None:
    assert pages.located(SAID) == (
        f"see {brought}/volumes.md, Restore ({brought}/decisions/2026-11-22-adopt.md#why); "
        "my/docs/a.md and docs/ are others"
    )


def test_an_error_leads_there(
    brought: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_words: object, **_more: object) -> None:
        raise stack.StackError("it holds a volume: docs/runbook.md#what-holds-a-volume")

    monkeypatch.setattr(stack, "choose", fail)
    monkeypatch.setattr(sys, "argv", ["nomad-stateful", "status"])
    assert command_line.main() == 1
    assert capsys.readouterr().err == f"error: it holds a volume: {brought}/runbook.md#what-holds-a-volume\n"


def test_a_refused_setting_leads_there(brought: Path) -> None:
    problem = Problem("mysqll", "set", "there is no such setting", "remove it (docs/config.md lists them all)")
    assert f"Remove it ({brought}/config.md lists them all)." in str(SettingsError([problem]))


def test_what_a_plugin_tells_the_engine_leads_there(brought: Path) -> None:
    assert told("still mounted\ndocs/runbook.md") == f"still mounted\n{brought}/runbook.md"


def test_what_a_resource_refuses_leads_there(brought: Path) -> None:
    [failure] = check_response(Checked({}, [CheckFailure("zone", "docs/volumes.md, Another zone")]), ()).failures
    assert failure.reason == f"{brought}/volumes.md, Another zone"
