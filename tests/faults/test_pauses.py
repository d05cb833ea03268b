"""The longest time in which a writer got no commit acknowledged."""

import contextlib
import time
from types import SimpleNamespace
from typing import Any, cast

from tools.faults.pauses import Pauses, Spread
from tools.trial.running import eventually


def when(pauses: Pauses, number: int) -> float | None:
    with contextlib.suppress(StopIteration):
        return pauses.when(number)
    return None


def test_a_pause_lasts_from_row_to_row_and_a_row_has_its_moment() -> None:
    writer = SimpleNamespace(acknowledged=[])
    with Pauses(cast("Any", writer)) as pauses:
        before = time.monotonic()
        writer.acknowledged.append(1)
        first = eventually(lambda: when(pauses, 1), 10, "the row is noticed")
        assert when(pauses, 2) is None

    assert before <= first
    assert pauses.longest_s >= first - before


def test_the_median_and_the_one_that_99_of_100_are_shorter_than() -> None:
    pauses = Pauses(cast("Any", SimpleNamespace(acknowledged=[])))
    at = 0.0
    for number in range(201):
        pauses._seen.append((at, number))
        at += 7.0 if number == 50 else 0.1 if number == 60 or number == 61 or number == 62 else 0.04
    assert pauses.spread(1.0) == Spread(0.04, 0.1, 7.0, 1.0)
