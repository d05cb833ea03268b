"""Who finds a defect: a test that fails with it and passes without it."""

from pathlib import Path

import pytest

from tools.planted.defect import Change, Defect
from tools.planted.suites import SuiteError, find

CODE = "def price(cents):\n    return max(cents, 0)\n"
TESTS = """from nomad_stateful.shop import price

def test_it_is_as_given():
    assert price(3) == 3

def test_it_is_not_below_zero():
    assert price(-1) == 0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project."""
    for path, text in {
        "nomad_stateful/__init__.py": "",
        "nomad_stateful/shop.py": CODE,
        "tools/__init__.py": "",
        "tests/unit/test_price.py": TESTS,
        "tests/unit/test_others.py": "def test_fails():\n    raise AssertionError\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def defect(new: str, *tests: str) -> Defect:
    return Defect(
        "cheap", "A price is not below zero.", [Change("nomad_stateful/shop.py", "max(cents, 0)", new)], tests
    )


def test_the_test_that_fails_with_it_and_passes_without_it_finds_it(folder: Path) -> None:
    result = find(defect("cents", "tests/unit/test_price.py"), folder, ["unit", "stack"])
    assert (result.suite, result.tried) == ("unit", ["unit"])
    assert result.test == "tests/unit/test_price.py::test_it_is_not_below_zero"
    assert (folder / "nomad_stateful/shop.py").read_text() == CODE


@pytest.mark.parametrize("tests", ["tests/unit/test_others.py", "tests/unit/test_price.py::test_it_is_as_given"])
def test_what_fails_anyway_and_what_passes_find_nothing(tests: str, folder: Path) -> None:
    result = find(defect("cents", tests), folder, ["unit"])
    assert (result.suite, result.test, result.tried) == ("", "", ["unit"])


def test_a_suite_that_was_not_asked_for_does_not_run(folder: Path) -> None:
    result = find(defect("cents", "tests/unit/test_price.py"), folder, ["stack"])
    assert (result.suite, result.tried) == ("", [])


def test_a_suite_that_cannot_run_is_no_result(folder: Path) -> None:
    (folder / "tests/unit/test_price.py").write_text("import nowhere\n")
    with pytest.raises(SuiteError, match="nowhere"):
        find(defect("cents", "tests/unit/test_price.py"), folder, ["unit"])


def test_a_folder_whose_code_is_not_what_runs_is_no_result(folder: Path) -> None:
    (folder / "nomad_stateful/__init__.py").unlink()
    (folder / "nomad_stateful/__init__.py").symlink_to(Path(__file__))
    with pytest.raises(SuiteError, match="other code is imported"):
        find(defect("cents", "tests/unit/test_price.py"), folder, ["unit"])
