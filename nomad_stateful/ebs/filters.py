"""EC2's filters with many values, in as many calls as that takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

MOST_VALUES = 200
"""What EC2 takes in the filters of one call: FilterLimitExceeded of
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
"""

Filters = list[dict[str, Any]]


def in_batches(name: str, values: Iterable[str]) -> Iterator[Filters]:
    """Yields the filters of each call that finds what has one of the values; nothing where there is no value."""
    wanted = list(values)
    for first in range(0, len(wanted), MOST_VALUES):
        yield [{"Name": name, "Values": wanted[first : first + MOST_VALUES]}]
