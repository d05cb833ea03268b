"""An older sibling of Debian's MySQL server, of which Debian has one version alone.

It is the same program with the numbers changed that are compiled into it. MySQL writes its number into the data
dictionary and compares it there at each start: so the real server upgrades what the older one wrote, and the older one
refuses what the real one wrote, by MySQL's own code. All else (features, defaults, what was removed) is the real one's.
https://dev.mysql.com/doc/refman/9.7/en/upgrading-what-is-upgraded.html
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Final

from sandbox.docker.errors import DockerError

SERIES: Final = "8.4"
"""The long-term series before the one that Debian has."""
_SERVER: Final = "usr/sbin/mysqld"
# The beginnings of x86-64 instructions that have a number at their end: compare, subtract, push and move.
_TAKES_NUMBER: Final = re.compile(
    rb"(?:[\x2d\x3d\x68\xb8-\xbf]|\x81[\xf8-\xff]|\x81[\x78-\x7f].|\x81[\xb8-\xbf].{4}"
    rb"|\xc7[\x40-\x47].|\xc7[\x80-\x87].{4}|\xc7\x44..|\xc7\x84.{5})\Z",
    re.DOTALL,
)
_LONGEST: Final = 7
_EXECUTABLE: Final = 1


def older(version: str) -> str:
    """Returns the older sibling's version: 8.4.4 of 9.7.4."""
    return f"{SERIES}.{version.rpartition('.')[2]}"


def put(layer: Path, base: Path, version: str) -> None:
    """Puts the sibling of base's server into a layer, in its place. Raises DockerError."""
    target = layer / _SERVER
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(patched((base / _SERVER).read_bytes(), version))
    target.chmod(0o755)


def patched(program: bytes, version: str) -> bytes:
    """Returns the program as the older version. Raises DockerError where its numbers are not where they were."""
    made = bytearray(program)
    begin, end = _code(program)
    now, then = _number(version), _number(older(version))
    first_now, first_then = now // 100 * 100, then // 100 * 100
    counts = {
        # Also "later than the one before", and the first of the series, from which a patch may go back.
        number: _replace(made, begin, end, number, other)
        for number, other in ((now, then), (now - 1, then - 1), (first_now, first_then))
    }
    texts = _replace_texts(made, begin, end, version)
    if counts[now] < 20 or not counts[first_now] or not texts:
        raise DockerError(
            f"MySQL {version} has its number where {Path(__file__).name} does not look for it ({counts}, {texts} texts)"
        )
    return bytes(made)


def _number(version: str) -> int:
    major, minor, patch = map(int, version.split("."))
    return major * 10000 + minor * 100 + patch


def _code(program: bytes) -> tuple[int, int]:
    """Returns where the machine code begins and ends, by the ELF's program headers."""
    (table,) = struct.unpack_from("<Q", program, 32)
    (count,) = struct.unpack_from("<H", program, 56)
    for index in range(count):
        kind, flags, begin, _, _, size = struct.unpack_from("<IIQQQQ", program, table + 56 * index)
        if kind == 1 and flags & _EXECUTABLE:
            return begin, begin + size
    raise DockerError("mysqld has no machine code: it is no program for this machine")


def _replace(made: bytearray, begin: int, end: int, number: int, other: int) -> int:
    wanted, count, at = struct.pack("<I", number), 0, begin
    while (at := made.find(wanted, at, end)) >= 0:
        if _TAKES_NUMBER.search(bytes(made[at - _LONGEST : at])):
            made[at : at + 4] = struct.pack("<I", other)
            count += 1
        at += 4
    return count


def _replace_texts(made: bytearray, begin: int, end: int, version: str) -> int:
    """Replaces the version as text; in code the beginning alone, where it is moved in parts."""
    series, count, at = f"{version.rpartition('.')[0]}.".encode(), 0, 0
    while (at := made.find(series, at)) >= 0:
        if begin <= at < end or made.startswith(version.encode(), at):
            made[at : at + len(series)] = f"{SERIES}.".encode()
            count += 1
        at += len(series)
    return count
