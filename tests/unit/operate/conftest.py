"""The command line of operators, as a test gives it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from nomad_stateful.operate import __main__ as command_line
from nomad_stateful.operate import stack


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status, and what was printed by then."""

    status: int
    out: str
    err: str


Operate = Callable[..., Ended]


@pytest.fixture
def operate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Operate:
    """Runs a command with its words, on whatever stack."""
    monkeypatch.setattr(stack, "choose", lambda *_words, **_more: None)

    def run(*words: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["nomad-stateful", *words])
        try:
            status = command_line.main()
        except SystemExit as ended:
            status = int(ended.code or 0)
        return Ended(status, *capsys.readouterr())

    return run
