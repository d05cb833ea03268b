"""The runner survives what its runs and its sandboxes do to it, and always says what came out."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.machine import requirements
from tools.faults import __main__ as command
from tools.faults import checks, runner, table
from tools.faults.model import Fault
from tools.faults.plan import Step
from tools.faults.runner import Options, Runner
from tools.faults.table import Result
from tools.trial.ground import Ground
from tools.trial.servers import Server

Run = Callable[[Any, random.Random], str]


def lane(folder: Path) -> Any:
    """What a lane is to the runner, without a sandbox: writes are acknowledged and nothing is left."""
    return SimpleNamespace(
        number=0,
        problems=[],
        state="deployed",
        doing=None,
        injected_at=0.0,
        logs=folder / "logs",
        histories=folder / "histories",
        call_log=record(folder),
        mounts=SimpleNamespace(samples=0, violations=[], seen={"vol-1"}),
        writer=SimpleNamespace(total=0, begin=lambda: None, end=lambda: None, lost=set, contradictions=list),
        await_writes=lambda: None,
        stack=SimpleNamespace(project=folder, diagnosis=lambda: "what a person would look at"),
    )


def record(folder: Path) -> Path:
    """A record of calls to AWS, in which there is nothing yet."""
    folder.mkdir(parents=True)
    (folder / "calls.jsonl").touch()
    return folder / "calls.jsonl"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Folders of the lanes that were asked for; whichever is called `lane-0-1` does not come up."""
    asked: list[Path] = []

    @contextlib.contextmanager
    def open_lane(
        _number: int, _ground: Ground, folder: Path, _official: Path | None, _server: Server
    ) -> Iterator[Any]:
        asked.append(folder)
        if folder.name == "lane-0-1":
            raise RuntimeError("no room for another sandbox")
        yield lane(folder)

    monkeypatch.setattr(runner, "open_lane", open_lane)
    monkeypatch.setattr(runner, "traces", lambda _name, _home: {})
    monkeypatch.setattr(checks, "not_converged", lambda _lane: "")
    monkeypatch.setattr(checks, "orphans", lambda _lane: [])
    return asked


def works(of: Any, _draw: random.Random) -> str:
    of.mounts.samples += 1
    return "seen"


def fails(of: Any, draw: random.Random) -> str:
    works(of, draw)
    raise ZeroDivisionError("an error that nobody thought of")


def detaches(of: Any, draw: random.Random) -> str:
    call = {"time": "10:00", "caller": "pulumi", "action": "DetachVolume", "error": "", "mounted": ["/srv/mysql"]}
    of.call_log.write_text(json.dumps(call | {"params": {"VolumeId": "vol-1", "InstanceId": "i-1"}}) + "\n")
    return works(of, draw)


def steps(*runs: Run) -> list[Step]:
    return [Step(number, Fault(f"fault {number}", "engine", run), 1) for number, run in enumerate(runs, start=1)]


def options(folder: Path) -> Options:
    return Options(1, "none", IPv4Network("192.0.2.0/24"), folder / "lanes", folder / "kept", lambda _step: "again")


def problems(results: list[Result]) -> dict[int, list[str]]:
    return {one.number: one.problems for one in results}


def test_a_run_that_fails_in_any_way_ends_no_other_run(tmp_path: Path, opened: list[Path]) -> None:
    results = Runner(options(tmp_path), steps(works, fails, works, works)).run()
    assert problems(results) == {
        1: [],
        2: ["ZeroDivisionError: an error that nobody thought of"],
        3: ["the sandbox did not come up: no room for another sandbox"],
        4: [],
    }
    assert [folder.name for folder in opened] == ["lane-0-0", "lane-0-1", "lane-0-2"]
    assert (tmp_path / "kept/run-2/problems.txt").read_text() == "ZeroDivisionError: an error that nobody thought of"
    assert (tmp_path / "kept/run-2/diagnosis.txt").read_text() == "what a person would look at"


def test_a_watch_that_has_stopped_fails_the_run(tmp_path: Path, opened: list[Path]) -> None:
    (result,) = Runner(options(tmp_path), steps(lambda _lane, _draw: "seen")).run()
    assert result.problems == ["the watch on the mounts has stopped"]
    assert opened


def test_a_detachment_of_a_mounted_volume_fails_the_run(tmp_path: Path, opened: list[Path]) -> None:
    told = "10:00: pulumi detached vol-1 from i-1 while it was mounted at /srv/mysql"
    (result,) = Runner(options(tmp_path), steps(detaches)).run()
    assert (result.detached, result.problems) == ([told], [told])
    assert opened


def test_a_fault_that_takes_the_volume_away_on_purpose_is_excepted_and_counted(
    tmp_path: Path, opened: list[Path]
) -> None:
    fault = Fault("the power goes", "instance", detaches, may_detach_mounted="nobody can ask a dead client")
    (result,) = Runner(options(tmp_path), [Step(1, fault, 1)]).run()
    assert (len(result.detached), result.problems) == (1, [])
    assert opened


def test_what_the_judge_finds_fails_the_run_and_the_histories_are_kept(tmp_path: Path, opened: list[Path]) -> None:
    def contradicts(of: Any, draw: random.Random) -> str:
        of.histories.mkdir()
        (of.histories / "history-1.jsonl").write_text("what clients saw")
        of.writer.contradictions = lambda: ["history-1.jsonl: wrong"]
        return works(of, draw)

    (result,) = Runner(options(tmp_path), steps(contradicts)).run()
    assert result.problems == ["history-1.jsonl: wrong"]
    assert (tmp_path / "kept/run-1/histories/history-1.jsonl").read_text() == "what clients saw"
    assert opened


def test_what_a_fault_finds_fails_the_run_and_the_judge_is_asked_all_the_same(
    tmp_path: Path, opened: list[Path]
) -> None:
    def finds(of: Any, draw: random.Random) -> str:
        of.problems.append("client-2 lacks 3 acknowledged rows")
        of.writer.contradictions = lambda: ["history-1.jsonl: wrong"]
        return works(of, draw)

    (result,) = Runner(options(tmp_path), steps(finds)).run()
    assert result.problems == ["history-1.jsonl: wrong", "client-2 lacks 3 acknowledged rows"]
    assert opened


def test_the_judge_is_asked_after_a_fault_that_ends_in_an_error(tmp_path: Path, opened: list[Path]) -> None:
    def never_whole(of: Any, _draw: random.Random) -> str:
        of.writer.contradictions = lambda: ["history-1.jsonl: wrong"]
        raise AssertionError("client-2 is not ONLINE")

    (result,) = Runner(options(tmp_path), steps(never_whole)).run()
    assert result.problems[:2] == ["AssertionError: client-2 is not ONLINE", "history-1.jsonl: wrong"]
    assert opened


def test_results_are_written_as_they_come(tmp_path: Path, opened: list[Path]) -> None:
    numbers: list[int] = []
    reporting = replace(options(tmp_path), report=lambda result: numbers.append(result.number))
    Runner(reporting, steps(works, works)).run()
    assert numbers == [1, 2]
    assert opened


def test_an_interrupt_still_gives_the_table_and_the_file(
    tmp_path: Path, opened: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[Runner] = []

    def interrupted(of: Any, draw: random.Random) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        assert made[0].stop.wait(30)
        return works(of, draw)

    def make(options: Options, _steps: list[Step]) -> Runner:
        made.append(Runner(options, steps(interrupted, works)))
        return made[0]

    monkeypatch.setattr(command, "Runner", make)
    monkeypatch.setattr(requirements, "lacking", lambda: None)
    before = signal.getsignal(signal.SIGTERM)
    status = command.main(["--runs", "2", "--seed", "1", "--results", str(tmp_path)])
    assert signal.getsignal(signal.SIGTERM) == before
    assert status == 1
    assert [one.number for one in table.read(tmp_path / "results.jsonl", "--seed 1 --runs 2")] == [1]
    assert "fault 1" in capsys.readouterr().out
    assert len(opened) == 1
