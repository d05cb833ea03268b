"""The first part of the short plan: a `pulumi up` is killed, and the disk is full."""

import pytest

from tests.faults.short_plan import assert_that_nothing_is_lost

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]


def test_nothing_is_lost_and_nothing_is_left_whatever_fails(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert_that_nothing_is_lost(0, tmp_path_factory)
