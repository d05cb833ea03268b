"""How many tests each resource type and function passed, at the end of a run, and how many were expected to fail."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests import closing_lines
from tests.providers.conformance.tables import FUNCTIONS, TYPES
from tests.providers.conformance.worlds import EMBEDDED, OFFICIAL
from tests.providers.harness import EXERCISED

_TOKENS = {one.token for one in (*TYPES, *FUNCTIONS)}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Counts a passed test for the types and functions whose plugin it called."""
    report = yield
    if call.when == "setup":
        EXERCISED.clear()
    elif call.when == "call":
        whose = OFFICIAL if f"[{OFFICIAL}" in item.name else EMBEDDED
        tally = "conformance" if report.passed else "conformance, expected differences"
        if report.passed or hasattr(report, "wasxfail"):
            closing_lines.tally(tally).update(whose + token for token in EXERCISED & _TOKENS)
    return report
