"""The older sibling of a MySQL server: its number is changed in code, and nowhere else."""

import struct

import pytest

from sandbox.docker.errors import DockerError
from sandbox.docker.older_mysql import older, patched

_HEADERS, _CODE = 64, 64 + 56
_COMPARE, _MOVE, _CALL = b"\x3d", b"\xb9", b"\xe8"


def number(value: int) -> bytes:
    return struct.pack("<I", value)


def program(code: bytes, data: bytes = b"") -> bytes:
    start = b"\x7fELF" + bytes(28) + struct.pack("<Q", _HEADERS) + bytes(16) + struct.pack("<H", 1) + bytes(6)
    header = struct.pack("<IIQQQQQQ", 1, 5, _CODE, 0, 0, len(code), 0, 0)
    return start + header + code + data


CODE = 30 * (_COMPARE + number(90704)) + _COMPARE + number(90703) + b"\x2d" + number(90700) + b"\xc7E\x0d9.7."


def test_the_number_is_changed_where_the_code_takes_it() -> None:
    made = patched(program(CODE + _MOVE + number(90704) + _CALL + number(90704)), "9.7.4")
    assert made.count(number(80404)) == 31
    assert made.count(_CALL + number(90704)) == 1
    assert _COMPARE + number(80403) in made
    assert b"\x2d" + number(80400) in made
    assert b"8.4." in made


def test_data_is_left_alone_but_for_the_version_as_text() -> None:
    data = number(90704) + b"MySQL 9.7.4\x00 19.7.1"
    made = patched(program(CODE, data), "9.7.4")
    assert made.endswith(number(90704) + b"MySQL 8.4.4\x00 19.7.1")


def test_a_program_whose_number_is_elsewhere_is_refused() -> None:
    with pytest.raises(DockerError, match=r"MySQL 9.7.4 has its number where older_mysql.py does not look"):
        patched(program(bytes(64)), "9.7.4")


def test_the_sibling_has_the_same_patch() -> None:
    assert older("9.7.12") == "8.4.12"
