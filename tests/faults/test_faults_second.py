"""The second part of the short plan."""

import pytest

from tests.faults.short_plan import assert_that_nothing_is_lost

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


def test_nothing_is_lost_and_nothing_is_left_whatever_fails(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert_that_nothing_is_lost(1, tmp_path_factory)
