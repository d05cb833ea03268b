"""Other engines and other variables: what a command of each sees, and what is said of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from tools.bench import engines
from tools.bench.engines import Taken

TAKEN = Taken("as it is", 100, 1, "up", 3.0, 2.0, 4.0, 120, 300_000)


def test_a_way_is_its_name_and_its_variables() -> None:
    found = engines.way(["gzip", "PULUMI_DIY_BACKEND_GZIP=1", "GOGC=400"])
    assert (found.name, found.variables) == ("gzip", {"PULUMI_DIY_BACKEND_GZIP": "1", "GOGC": "400"})


def test_a_word_that_is_no_variable_is_told() -> None:
    with pytest.raises(SystemExit, match="--way gzip: PULUMI_DIY_BACKEND_GZIP is not VARIABLE=VALUE"):
        engines.way(["gzip", "PULUMI_DIY_BACKEND_GZIP"])


def test_a_command_sees_its_own_way_and_nothing_of_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_SKIP_CHECKPOINTS", "1")
    monkeypatch.setenv("GOGC", "100")
    found = engines.environment(engines.way(["new", "BIN=/opt/new", "GOGC=400"]), tmp_path, 100)
    assert found["PATH"].startswith("/opt/new:")
    assert (found["GOGC"], found["SECRETS"]) == ("400", "100")
    assert not {"PULUMI_SKIP_CHECKPOINTS", "BIN"} & found.keys()


def test_the_table_has_medians_of_each_way_and_memory_and_state_of_up() -> None:
    runs = [replace(TAKEN, repetition=number, cpu_s=seconds) for number, seconds in ((1, 3.0), (2, 5.0), (3, 4.0))]
    destroyed = replace(TAKEN, command="destroy", cpu_s=2.0, engine_mib=90, state_bytes=600)
    other = replace(TAKEN, way="GOGC=400", cpu_s=2.5, engine_mib=200)
    _, _, *lines = engines.shown([*runs, destroyed, other]).splitlines()
    assert lines == ["| 100 | as it is | 4.0 | - | 2.0 | 120 | 300 |", "| 100 | GOGC=400 | 2.5 | - | - | 200 | 300 |"]
