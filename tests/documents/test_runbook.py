"""For each entry of docs/runbook.md a test brings its situation about, and that test exists."""

import tomllib

import pytest

from tests.documents.runbook import PAGE, TESTS, entries, lacking

NAMED = {
    (section, row): tests
    for section, rows in tomllib.loads(TESTS.read_text(encoding="utf-8")).items()
    for row, tests in rows.items()
}


def test_every_entry_has_tests_and_nothing_else_has() -> None:
    on_the_page = entries(PAGE.read_text(encoding="utf-8"))
    assert [entry for entry in on_the_page if not NAMED.get(entry)] == []
    assert NAMED.keys() - set(on_the_page) == set()


@pytest.mark.parametrize("entry", NAMED, ids=": ".join)
def test_every_test_of_an_entry_exists(entry: tuple[str, str]) -> None:
    assert [reason for reason in map(lacking, NAMED[entry]) if reason] == []


def test_rows_and_sections_without_a_table_are_entries() -> None:
    page = (
        "# Page\nintroduction\n\n## With rows\nwords\n\n| what | do |\n| --- | --- |\n| one | x |\n"
        "| two | y |\n\n## With steps\n1. a step\n\n```\n## in a block\n```\n\n"
        "## With others\n\n### Inner\nwords\n"
    )
    assert entries(page) == [("With rows", "one"), ("With rows", "two"), ("With steps", ""), ("Inner", "")]


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("tests/documents/test_runbook.py::test_a_name_that_leads_nowhere_is_found", ""),
        ("tests/documents/test_runbook.py::test_a_name_that_leads_nowhere_is_found[made up]", ""),
        ("tests/documents/test_runbook.py::test_nothing", "has no test_nothing"),
        ("tests/documents/test_runbook.py::lacking", "it is not"),
        ("tests/documents/test_gone.py::test_x", "there is no tests/documents/test_gone.py"),
        ("docs/runbook.md", "it is not"),
        ("made up", "it is not"),
    ],
)
def test_a_name_that_leads_nowhere_is_found(test: str, said: str) -> None:
    found = lacking(test)
    assert found.startswith(said) if said == "it is not" else said in found
    assert bool(found) == bool(said)


def test_a_case_that_is_not_there_is_found() -> None:
    name = "tests/documents/test_runbook.py::test_a_name_that_leads_nowhere_is_found"
    assert lacking(f"{name}[{'no such' + ' case'}]") != ""
