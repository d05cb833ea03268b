"""The order of a test run, and what it says of how long it will take."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import module_times


class Cache(dict[str, Any]):
    """As pytest's, for a run's own times and failures."""

    def set(self, name: str, value: Any) -> None:
        self[name] = value


def configured(kept: dict[str, Any] | None = None, markexpr: str = "not nightly") -> Any:
    said: list[str] = []
    return SimpleNamespace(
        said=said,
        get_terminal_writer=lambda: SimpleNamespace(line=said.append),
        cache=Cache(kept or {}),
        option=SimpleNamespace(collectonly=False, markexpr=markexpr),
        getoption=lambda name: name == "--record-times",
    )


@pytest.fixture(autouse=True)
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tests/module_times.json"
    path.parent.mkdir()
    change = {"tests/test_short.py": 2.0, "tests/test_long.py": 90.0, "tests/test_gone.py": 1.0}
    path.write_text(json.dumps({"change": change, "nightly": {"tests/test_short.py": 400.0}}))
    for name in ("short", "long"):
        (path.parent / f"test_{name}.py").touch()
    monkeypatch.setattr(module_times, "RECORD", path)
    return path


def ordered(config: Any, *nodeids: str) -> list[str]:
    items: list[Any] = [SimpleNamespace(nodeid=nodeid) for nodeid in nodeids]
    module_times.order(config, items)
    return [item.nodeid for item in items]


def test_the_longest_file_is_first_and_a_files_tests_keep_their_order() -> None:
    nodeids = ("tests/test_new.py::b", "tests/test_short.py::z", "tests/test_short.py::a", "tests/test_long.py::a")
    assert ordered(configured(), *nodeids) == [nodeids[3], nodeids[1], nodeids[2], nodeids[0]]


def test_a_file_that_failed_last_comes_before_a_longer_one() -> None:
    config = configured({"cache/lastfailed": {"tests/test_short.py::a": True}})
    assert ordered(config, "tests/test_long.py::a", "tests/test_short.py::a")[0] == "tests/test_short.py::a"


def test_this_machines_own_times_go_before_the_recorded_ones() -> None:
    config = configured({"nomad-stateful/times-of/change": {"tests/test_short.py": 300.0}})
    assert ordered(config, "tests/test_long.py::a", "tests/test_short.py::a")[0] == "tests/test_short.py::a"


def report(nodeid: str, seconds: float, failed: bool = False) -> Any:
    return SimpleNamespace(nodeid=nodeid, duration=seconds, failed=failed, when="teardown")


def test_the_estimate_is_the_work_left_at_the_runs_own_pace() -> None:
    config = configured()
    progress = module_times.Progress(config)
    progress.take(["tests/test_long.py::a", "tests/test_long.py::b", "tests/test_short.py::a"])
    assert progress.remaining(0) == pytest.approx(92)
    progress.pytest_runtest_logreport(report("tests/test_long.py::a", 44.0))
    # Of 92 seconds of work 44 are done, by workers that took 22 for them.
    assert progress.remaining(22) == pytest.approx(24)
    assert progress.sentence(22) == "22 s: 0 of 2 files, 1 of 3 tests; about 24 s left"
    progress.pytest_runtest_logreport(report("tests/test_long.py::b", 44.0, failed=True))
    progress.pytest_runtest_logreport(report("tests/test_short.py::a", 2.0))
    assert progress.sentence(75) == "1 min 15 s: 2 of 2 files, 3 of 3 tests, 1 failed; about 0 s left"
    assert config.said == ["\nteardown of tests/test_long.py::b failed"]


def test_before_there_is_a_pace_the_work_is_shared_by_the_workers() -> None:
    config = configured()
    config.option.numprocesses = 4
    progress = module_times.Progress(config)
    progress.take(["tests/test_long.py::a", "tests/test_long.py::b", "tests/test_short.py::a"])
    progress.pytest_runtest_logreport(report("tests/test_long.py::a", 0.001))
    assert progress.remaining(30) == pytest.approx(23, abs=0.1)


def test_only_modules_that_ran_whole_are_kept_and_the_record_forgets_what_is_gone(record: Path) -> None:
    config = configured()
    progress = module_times.Progress(config)
    progress.take(["tests/test_long.py::a", "tests/test_short.py::a", "tests/test_short.py::b"])
    progress.pytest_runtest_logreport(report("tests/test_long.py::a", 70.0))
    progress.pytest_runtest_logreport(report("tests/test_short.py::a", 5.0))
    progress.pytest_sessionfinish()
    assert config.cache["nomad-stateful/times-of/change"] == {"tests/test_long.py": 70.0}
    assert json.loads(record.read_text()) == {
        "change": {"tests/test_long.py": 70.0, "tests/test_short.py": 2.0},
        "nightly": {"tests/test_short.py": 400.0},
    }


def test_a_night_has_times_of_its_own() -> None:
    night, day = configured(markexpr="nightly"), configured()
    nodeids = ("tests/test_long.py::a", "tests/test_short.py::a")
    assert ordered(night, *nodeids)[0] == "tests/test_short.py::a"
    progress = module_times.Progress(night)
    progress.take(nodeids)
    progress.pytest_runtest_logreport(report("tests/test_long.py::a", 700.0))
    progress.pytest_sessionfinish()
    assert module_times.known(night)["tests/test_long.py"] == 700.0
    assert module_times.known(day)["tests/test_long.py"] == 90.0
