"""Sizes: EBS counts whole GiB, CSI counts bytes."""

from __future__ import annotations

from typing import Final

from sandbox.standins.csi.errors import invalid

GIB: Final = 1024**3
DEFAULT_GIB: Final = 100
"""Size of a volume for which nobody asked a size, as upstream."""


def round_up_gib(size_bytes: int) -> int:
    """The smallest whole number of GiB that holds `size_bytes`."""
    return -(-size_bytes // GIB)


def requested_gib(required_bytes: int, limit_bytes: int) -> int:
    """The size for a capacity range (0 = not given), in GiB; INVALID_ARGUMENT when no whole GiB lies in the range."""
    if required_bytes < 0 or limit_bytes < 0:
        raise invalid(f"capacity range {required_bytes}..{limit_bytes} has a negative bound")
    if required_bytes == 0 and limit_bytes > 0:
        size = min(DEFAULT_GIB, limit_bytes // GIB)
    else:
        size = round_up_gib(required_bytes) or DEFAULT_GIB
    if size < 1 or (limit_bytes > 0 and size * GIB > limit_bytes):
        raise invalid(
            "After round-up, volume size exceeds the limit specified: "
            f"{size or 1} GiB does not fit into {limit_bytes} bytes"
        )
    return size
