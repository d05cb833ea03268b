"""The other parts of the short plan."""

import pytest

from tests.faults.short_plan import PARTS, assert_that_nothing_is_lost

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.mark.parametrize("part", range(1, PARTS))
def test_nothing_is_lost_and_nothing_is_left_whatever_fails(
    tmp_path_factory: pytest.TempPathFactory, part: int
) -> None:
    assert_that_nothing_is_lost(part, tmp_path_factory)
