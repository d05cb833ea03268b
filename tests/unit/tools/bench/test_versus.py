"""Two commits side by side: who runs when, what is compared with what, and what is said of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.bench import versus
from tools.bench.growth import COMMANDS, Measured
from tools.bench.versus import Pair
from tools.trial import commit


def measured(seconds: float, command: str = "up", requests: int = 10) -> Measured:
    return Measured(1, 1, command, seconds, seconds / 2, 100, 80, 90, 50, 40, requests, 4)


def test_both_run_each_command_in_turn_and_change_who_goes_first() -> None:
    ran: list[tuple[str, str]] = []

    def run(side: str, volumes: int, consumers: int, command: str) -> Measured:
        ran.append((side, command))
        return measured(1, command)

    pairs = list(versus.compare(run, [(1, 1)], 2))
    first = [(side, command) for command in COMMANDS for side in ("base", "here")]
    second = [(side, command) for command in COMMANDS for side in ("here", "base")]
    assert ran == first + second
    assert len(pairs) == 2 * len(COMMANDS)


def test_a_regression_is_a_ratio_of_what_ran_together() -> None:
    # The machine was three times as slow while the second pair ran.
    pairs = [Pair(measured(10), measured(12)), Pair(measured(30), measured(36)), Pair(measured(10), measured(13))]
    (line,) = versus.shown(pairs).splitlines()[2:]
    assert "**1.20** (1.20 to 1.30)" in line
    (summary,) = versus.document(pairs, {})["summaries"]
    assert (summary["command"], summary["seconds ratio"]) == ("up", 1.2)


def test_every_sample_and_what_was_compared_are_in_the_document() -> None:
    pairs = [Pair(measured(10, requests=7), measured(10, requests=9))]
    found = json.loads(json.dumps(versus.document(pairs, {"base": "abc"})))
    assert found["base"] == "abc"
    assert [found["pairs"][0][side]["nomad_requests"] for side in ("base", "here")] == [7, 9]


def test_a_command_that_took_no_time_has_a_ratio() -> None:
    (summary,) = versus.document([Pair(measured(0), measured(0.02))], {})["summaries"]
    assert summary["seconds ratio"] == 2


def test_what_was_measured_before_the_run_was_ended_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[bool] = []

    def measure(*_: object) -> Iterator[Pair]:
        try:
            yield Pair(measured(10), measured(11))
            raise SystemExit(143)
        finally:
            ended.append(True)

    monkeypatch.setattr(versus, "_in_sandboxes", measure)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with pytest.raises(SystemExit):
        versus.main(["HEAD", "--json", str(tmp_path / "new/versus.json")])
    assert ended
    (summary,) = json.loads((tmp_path / "new/versus.json").read_text())["summaries"]
    assert summary["seconds ratio"] == 1.1


def test_a_revision_that_is_none_is_told_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        versus.main(["no-such-revision"])
    assert "no-such-revision is no commit here: fetch it" in capsys.readouterr().err
    with pytest.raises(commit.CommitError):
        commit.resolve("--all")
