"""Counts the values that were tried."""

from collections import Counter

import pytest

from tests import closing_lines


@pytest.fixture(scope="session")
def tally() -> Counter[str]:
    return closing_lines.tally("configuration fuzzer, hypothesis examples run")
