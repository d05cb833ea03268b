"""What others wrote reaches the terminal as text: AWS' descriptions, Nomad's messages, MySQL's names."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from nomad_stateful.columns import columns
from nomad_stateful.errors import ProviderError
from nomad_stateful.operate import __main__ as command_line
from nomad_stateful.operate.drill import report as reports
from nomad_stateful.operate.drill.report import Report, Table
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Command
from nomad_stateful.terminal import Line, Span, parsed, rendered, table
from nomad_stateful.visible import obeyed, visible, visible_lines
from tests.unit.operate.conftest import Ended, Operate

# Hides the line; writes to the clipboard; colours; goes back to the line's start; turns the text's direction.
HOSTILE = "shop\x1b[2K\x1b]52;c;aWQ=\x07\x1b[31m\r\u202e\x9b2K"
SHOWN = r"shop\x1b[2K\x1b]52;c;aWQ=\x07\x1b[31m\r\u202e\x9b2K"


def test_a_text_is_spelled_out_and_stays_one_line() -> None:
    assert visible(HOSTILE) == SHOWN
    assert visible("a\nb\tc") == r"a\nb\tc"
    assert visible_lines("a\nb\tc\x1b") == "a\nb\tc\\x1b"
    assert visible("Größe … 表") == "Größe … 表"


def test_cells_are_as_wide_as_they_are_shown() -> None:
    heading, _, row = columns([("NAME", "B"), (HOSTILE, "x\ny")], ruled=True).splitlines()
    assert row == f"{SHOWN}  x\\ny"
    assert heading.index("B") == row.index("x\\ny")
    _, row = rendered(table([("NAME", "B"), (HOSTILE, "x")]), colour=False).splitlines()
    assert row == f"{SHOWN}  x"


def test_ones_own_colours_stay_and_others_are_text() -> None:
    line: Line = [Span(HOSTILE, "bad"), Span(HOSTILE)]
    said = rendered([line], colour=True)
    assert parsed(said) == [[Span(SHOWN, "bad"), Span(SHOWN)]]
    assert rendered([line], colour=False) == SHOWN * 2


Run = Callable[[Callable[[Namespace], None]], Ended]


@pytest.fixture
def run(operate: Operate, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command of the command line that does this."""

    def tried(act: Callable[[Namespace], None]) -> Ended:
        monkeypatch.setattr(command_line, "COMMANDS", (Command("try", "", act),))
        return operate("try")

    return tried


def test_whatever_a_command_prints_is_text(run: Run) -> None:
    def act(_known: Namespace) -> None:
        print(f"first\n{HOSTILE}")
        print(f"    {HOSTILE}", file=sys.stderr, flush=True)
        sys.stdout.writelines([HOSTILE, "\n"])
        print(rendered([[Span(HOSTILE, "good")]], colour=True), file=obeyed(sys.stdout))

    assert run(act) == Ended(0, f"first\n{SHOWN}\n{SHOWN}\n\x1b[32m{SHOWN}\x1b[0m\n", f"    {SHOWN}\n")


@pytest.mark.parametrize("kind", [OperateError, ProviderError])
def test_so_is_what_it_ends_with(run: Run, capsys: pytest.CaptureFixture[str], kind: type[Exception]) -> None:
    def act(_known: Namespace) -> None:
        raise kind(HOSTILE)

    assert run(act) == Ended(1, "", f"error: {SHOWN}\n")
    print(HOSTILE)
    assert capsys.readouterr().out == f"{HOSTILE}\n", "the streams are as they were"


def test_a_drills_report_has_a_line_for_each_table(run: Run) -> None:
    report = Report("mysql", datetime.now(UTC), server=HOSTILE, output=[HOSTILE], notes=[HOSTILE])
    report.tables = [Table(f"`shop`.`{HOSTILE}`", 1, HOSTILE)]
    report.wrong(HOSTILE, HOSTILE)
    ended = run(lambda _known: print(reports.text(report)))
    assert ended.status == 0
    assert "\x1b" not in ended.out
    assert ended.out.count(SHOWN) == 7
