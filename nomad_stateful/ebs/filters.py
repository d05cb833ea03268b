"""What EC2 lists by filters: with many values in as many calls as that takes, and each answer page by page."""

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


def described(client: Any, kind: str, calls: Iterable[Filters], **more: Any) -> list[dict[str, Any]]:
    """Returns what all calls find of Volumes, Snapshots or Instances, on every page. Raises botocore's errors."""
    paginator = client.get_paginator(f"describe_{kind.lower()}")
    pages = [page for filters in calls for page in paginator.paginate(Filters=filters, **more)]
    if kind == "Instances":
        pages = [reservation for page in pages for reservation in page["Reservations"]]
    return [one for page in pages for one in page[kind]]
