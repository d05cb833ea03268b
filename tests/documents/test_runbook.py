"""Each entry of docs/runbook.md names a test that brings its situation about, and that test exists."""

import pytest

from tests.documents.runbook import PAGE, Entry, entries, lacking

ENTRIES = entries(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.title)
def test_every_entry_names_tests_that_exist(entry: Entry) -> None:
    assert entry.tests, f"{entry.title}: no <!-- test: FILE::FUNCTION --> in it"
    assert [found for found in map(lacking, entry.tests) if found] == []


def test_rows_and_sections_without_a_table_are_entries() -> None:
    page = (
        "# Page\nintroduction\n\n## With rows\nwords\n\n| what | do |\n| --- | --- |\n| one | x <!-- test: a --> |\n"
        "| two | y |\n\n## With steps\n1. a step <!-- test: b --> <!-- test: c -->\n\n```\n## in a block\n```\n\n"
        "## With others\n\n### Inner\nnothing named\n"
    )
    assert entries(page) == [
        Entry("With rows: one", ("a",)),
        Entry("With rows: two", ()),
        Entry("With steps", ("b", "c")),
        Entry("Inner", ()),
    ]


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
