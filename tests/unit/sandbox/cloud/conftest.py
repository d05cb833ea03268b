"""Applications of the sandbox's cloud, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.providers.moto_account import served as serving


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, list[Any]]]:
    """An address, and a list whose first application answers there."""
    current: list[Any] = []

    def answer(*request: Any) -> Any:
        return current[0](*request)

    with serving(answer) as url:
        yield url, current
