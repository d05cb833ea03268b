"""Which transactions a binary log has, when they were committed, and how the log was closed."""

import io
import struct
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from operate.point_in_time.binlog import BinlogError, Closing, GtidSet, Transaction, contents, previous

SOURCE = uuid.UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")
AT = datetime(2026, 11, 22, 10, 15, 0, 250_000, UTC)


def event(kind: int, body: bytes = b"", at: datetime | None = None) -> bytes:
    return struct.pack("<IBIIIH", int(at.timestamp()) if at else 0, kind, 1, 19 + len(body), 0, 0) + body


def rotated(at: datetime) -> bytes:
    """The last event of a log that its server closed to begin another."""
    return event(4, struct.pack("<Q", 4) + b"binlog.000009" + b"csum", at)


def stopped(at: datetime) -> bytes:
    """The last event of a server that was told to end."""
    return event(3, b"csum", at)


def gtid(number: int, at: datetime, *, replicated: bool = False) -> bytes:
    """A GTID event as the server writes it; a replicated transaction has its first commit's time behind the flag."""
    micros = round(at.timestamp() * 1_000_000) | (1 << 55 if replicated else 0)
    rest = micros.to_bytes(7, "little") + (b"\x01" * 7 if replicated else b"")
    return event(33, struct.pack("<B16sqBqq", 1, SOURCE.bytes, number, 2, 0, 1) + rest + b"checksum")


def before(*sources: tuple[uuid.UUID, Sequence[tuple[int, int]]]) -> bytes:
    """The event that says which transactions were before a log: spans of each source, up to without their ends."""
    body = struct.pack("<Q", len(sources))
    for source, spans in sources:
        body += source.bytes + struct.pack("<Q", len(spans)) + b"".join(struct.pack("<QQ", *span) for span in spans)
    return event(35, body + b"csum")


def log(*events: bytes, magic: bytes = b"\xfebin") -> io.BytesIO:
    return io.BytesIO(magic + event(15, b"x" * 100) + b"".join(events))


@pytest.mark.parametrize("replicated", [False, True])
def test_transactions_come_in_order_with_their_times(replicated: bool) -> None:
    rows = event(30, b"r" * (3 << 20))
    found = list(contents("log", log(gtid(7, AT, replicated=replicated), rows, gtid(8, AT), rows)))
    assert found == [Transaction(f"{SOURCE}:7", AT), Transaction(f"{SOURCE}:8", AT)]


def test_a_log_says_how_it_was_closed() -> None:
    second = AT.replace(microsecond=0)
    assert list(contents("log", log(rotated(AT)))) == [Closing(second, rotated=True)]
    assert list(contents("log", log(stopped(AT)))) == [Closing(second, rotated=False)]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (log(magic=b"\xfdbin"), "is encrypted"),
        (log(magic=b"<xml"), "is no binary log"),
        (log(event(34)), "without a GTID"),
        (log(event(42)), "with a tagged GTID"),
        (io.BytesIO(log(gtid(1, AT)).getvalue()[:-5]), "ends within an event"),
        (io.BytesIO(log().getvalue() + b"abc"), "ends within an event"),
    ],
)
def test_what_cannot_be_applied_is_refused(given: io.BytesIO, why: str) -> None:
    with pytest.raises(BinlogError, match=why):
        list(contents("log", given))


def test_the_transactions_before_a_log_are_a_set_as_the_server_writes_it() -> None:
    other = uuid.UUID(int=7)
    found = previous("log", log(before((SOURCE, [(1, 6), (7, 8)]), (other, [(3, 4)])), gtid(8, AT)))
    assert found == f"{SOURCE}:1-5:7,{other}:3"
    assert previous("log", log(before())) == ""


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (log(gtid(1, AT)), "does not say which transactions were before it"),
        (log(event(35, struct.pack("<Q", 1 << 56 | 1))), "tagged GTIDs"),
    ],
)
def test_a_log_that_does_not_say_what_was_before_it_is_refused(given: io.BytesIO, why: str) -> None:
    with pytest.raises(BinlogError, match=why):
        previous("log", given)


def test_single_transactions_become_a_set() -> None:
    found = GtidSet()
    for one in ("a:1", "a:2", "a:4", "b:9", "a:3", "a:5"):
        found.add(one)
    assert str(found) == "a:1-5,b:9"


def test_equal_sets_are_equal_texts() -> None:
    found = GtidSet("b:9,a:1-2:5")
    found.add("a:3")
    assert str(found) == str(GtidSet("a:1-3:5,b:9"))
    assert str(GtidSet()) == ""
