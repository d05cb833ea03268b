"""Sizes as people write them ("10GiB", "500 MB") and as Nomad's state shows them ("10 GiB")."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"\s*([0-9][0-9,]*\.?[0-9]*|\.[0-9]+)\s*([A-Za-z]*)\s*")
_PREFIXES = "KMGTPE"
_LIMIT_BYTES = 2**63 - 1  # Nomad keeps sizes as signed 64-bit numbers


def parse_bytes(text: str) -> int:
    """The size in bytes; k, M, G… are powers of 1000, Ki, Mi, Gi… of 1024. Raises ValueError."""
    found = _NUMBER.fullmatch(text)
    factor = _factor(found[2]) if found else None
    if not found or factor is None:
        raise ValueError(f"unable to parse {text!r}: write a number and a unit, for example 10GiB")
    size = int(float(found[1].replace(",", "")) * factor)
    if size > _LIMIT_BYTES:
        raise ValueError(f"{text!r} is too large")
    return size


def format_bytes(size: int) -> str:
    """The size in the largest binary unit, with one digit after the point below ten: "1.5 GiB", "10 GiB"."""
    if size < 10:
        return f"{size} B"
    power = min(int(math.log(size, 1024)), len(_PREFIXES))
    unit = f"{_PREFIXES[power - 1]}iB" if power else "B"
    value = math.floor(size / 1024**power * 10 + 0.5) / 10
    return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"


def _factor(unit: str) -> int | None:
    name = unit.lower()
    if name in ("", "b"):
        return 1
    prefix, rest = name[0].upper(), name[1:]
    if prefix not in _PREFIXES or rest not in ("", "b", "i", "ib"):
        return None
    return int((1024 if rest.startswith("i") else 1000) ** (_PREFIXES.index(prefix) + 1))
