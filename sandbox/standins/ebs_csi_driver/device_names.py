"""Which device name a new attachment gets."""

from __future__ import annotations

import string
from collections.abc import Collection, Iterator
from typing import Final

PREFIX: Final = "/dev/xvd"
LAST_SUFFIX: Final = "dx"
"""EC2 refuses names after /dev/xvddx."""


def candidates() -> Iterator[str]:
    """/dev/xvdaa, /dev/xvdab, … /dev/xvddx."""
    for first in "abcd":
        for second in string.ascii_lowercase:
            suffix = first + second
            yield PREFIX + suffix
            if suffix == LAST_SUFFIX:
                return


def _normal(name: str) -> str:
    # The same attachment point may be written /dev/sdaa, /dev/xvdaa or xvdaa.
    return name.removeprefix("/dev/").removeprefix("xvd").removeprefix("sd")


def free_name(used: Collection[str]) -> str | None:
    """The first name that is not in `used`, or None when the instance has none left."""
    taken = {_normal(name) for name in used}
    return next((name for name in candidates() if _normal(name) not in taken), None)
