"""The table and the list of failures: nothing that was lost may look well."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tools.faults.pauses import Spread
from tools.faults.table import Result, append, failures, picture, read, table, tables

FINE = Result(1, "kill -9 of mysqld", "process", recovery_s=3.21, acknowledged=120, seen="killed it")
SLOWER = Result(4, "kill -9 of mysqld", "process", recovery_s=9.9, acknowledged=80)
LOST = Result(2, "kill -9 of pulumi destroy", "engine", acknowledged=10, lost=[4, 5], repeat="again 2", kept="/logs/2")
ORPHAN = Result(
    3,
    "kill -9 of a client agent",
    "process",
    orphans=["volume vol-1, in no state"],
    detached=["vol-2 while it was mounted"],
    repeat="again 3",
)
DOUBLE = Result(5, "drain", "drain", problems=["vol-1 is mounted on client-1 and on client-2"], repeat="again 5")


def cells(results: list[Result], name: str) -> list[str]:
    line = next(line for line in table(results).splitlines() if line.startswith(name))
    return line.split("  ") and [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_a_fault_has_one_line_with_sums_and_the_longest_recovery() -> None:
    assert cells([FINE, SLOWER], FINE.fault) == [
        "kill -9 of mysqld",
        "process",
        "2",
        "200",
        "0",
        "0",
        "0",
        "9.9",
        "ok",
    ]


def test_a_line_names_the_database() -> None:
    assert cells([replace(FINE, database="PostgreSQL")], FINE.fault)[2] == "PostgreSQL"


def test_the_last_line_has_the_totals() -> None:
    assert cells([FINE, LOST, ORPHAN], "total") == ["total", "3", "130", "2", "1", "1", "3.2", "FAILED: run 2, 3"]


@pytest.mark.parametrize("bad", [LOST, ORPHAN, DOUBLE], ids=["a lost row", "an orphan", "a double mount"])
def test_what_was_broken_is_reported_with_how_to_repeat_it(bad: Result) -> None:
    assert bad.failed
    assert cells([FINE, bad], bad.fault)[-1] == f"FAILED: run {bad.number}"
    told = failures([FINE, bad], seed=42)
    assert f"run {bad.number} of seed 42 failed: {bad.fault}" in told
    assert f"again: {bad.repeat}" in told
    for broken in [*bad.orphans, *bad.problems, *map(str, bad.lost)]:
        assert broken in told
    assert FINE.fault not in told


def test_a_run_that_kept_every_promise_is_not_among_the_failures() -> None:
    assert not FINE.failed
    assert failures([FINE, SLOWER], seed=1) == ""


def test_pieces_of_a_plan_add_up_and_the_newest_result_of_a_run_counts(tmp_path: Path) -> None:
    file, slow = tmp_path / "results.jsonl", replace(ORPHAN, pauses=Spread(0.04, 0.5, 12.5, 0.2), target_s=10)
    for plan, result in (("--seed 9", LOST), ("--seed 8", DOUBLE), ("--seed 9", FINE), ("--seed 9", slow)):
        append(file, plan, result)
    assert read(file, "--seed 9") == [FINE, LOST, slow]
    append(file, "--seed 9", replace(LOST, lost=[]))
    assert [one.failed for one in read(file, "--seed 9")] == [False, False, True]
    assert read(tmp_path / "nothing.jsonl", "--seed 9") == []


def test_a_long_pause_is_told_and_fails_no_run() -> None:
    slow = Result(3, "primary paused", "group", pauses=Spread(0.04, 0.5, 12.5, 0.2), target_s=10)
    quick = replace(slow, number=4, pauses=Spread(0.05, 0.4, 7.1, 0.1))
    assert (slow.slow, quick.slow, slow.failed) == (True, False, False)
    assert not replace(slow, pauses=Spread(0.04, 0.5, 12.5, 0.2, stall=3)).slow
    assert (
        slow.paused
        == "pauses 0.04 median, 0.5 p99, 12.5 s longest at +0.2 s (machine stalled for up to 0 s), target 10 s: slow; "
    )
    assert "| primary paused | 2 | 0.05 | 0.5 | 12.5 | 12.5 | 0 | 10 | slow: run 3 |" in tables([slow, quick])
    assert tables([Result(1, "drain", "drain")]).endswith("ok")


def test_a_picture_has_a_dot_for_each_run_and_a_panel_for_each_target() -> None:
    slow = Result(3, "primary paused", "group", pauses=Spread(0.04, 0.5, 12.5, 0.2), target_s=10)
    planned = replace(slow, fault="a drain", target_s=2)
    drawn = ET.fromstring(picture([slow, replace(slow, number=4), planned, FINE]))
    told = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))) == 3
    assert [text for text in told if text in ("primary paused", "a drain", FINE.fault)] == ["a drain", "primary paused"]
