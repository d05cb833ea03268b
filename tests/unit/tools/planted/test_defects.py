"""The defects are fresh: each applies to the code of today, and names tests that there are."""

import ast
from pathlib import Path

import pytest

from tools.planted.defect import Change, Defect, StaleError, every_defect
from tools.planted.suites import FOLDERS
from tools.trial.running import PROJECT

DEFECTS = every_defect()


def test_there_are_defects_enough_to_measure_by() -> None:
    assert len(DEFECTS) >= 25


@pytest.mark.parametrize("name", DEFECTS)
def test_each_applies_once_and_leaves_code_that_can_be_read(name: str) -> None:
    for path, (before, after) in DEFECTS[name].texts(PROJECT).items():
        assert after != before
        if path.suffix == ".py":
            ast.parse(after)


@pytest.mark.parametrize("name", DEFECTS)
def test_each_names_tests_of_a_suite(name: str) -> None:
    folders = tuple(folder for folders in FOLDERS.values() for folder in folders)
    tests = DEFECTS[name].tests
    assert tests or DEFECTS[name].faults
    assert all(one.startswith(folders) and (PROJECT / one.partition("::")[0]).exists() for one in tests)


def test_one_of_other_code_is_an_error_that_says_how_to_refresh_it(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("wait()\nwait()\n")
    for old, times in (("stop()", 0), ("wait()", 2)):
        stale = Defect("no-wait", "It waits.", [Change("shop.py", old, "pass")], ["tests/unit/test_shop.py"])
        with pytest.raises(StaleError, match=f"defect no-wait .* {times} times in shop.py.*NAMES=no-wait"):
            stale.texts(tmp_path)
