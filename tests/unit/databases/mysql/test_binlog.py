"""Which transactions a binary log has, when they were committed, and how the log was closed."""

import io
import struct
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from nomad_stateful.databases.mysql.binlog import BinlogError, Closing, Opening, Transaction, contents
from nomad_stateful.databases.mysql.gtids import Gtid, GtidSet, Origin

SOURCE = uuid.UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")
AT = datetime(2026, 11, 22, 10, 15, 0, 250_000, UTC)
BEGAN = datetime(2026, 11, 22, 10, 14, tzinfo=UTC)


def event(kind: int, body: bytes = b"", at: datetime | None = None) -> bytes:
    return struct.pack("<IBIIIH", int(at.timestamp()) if at else 0, kind, 1, 19 + len(body), 0, 0) + body


def rotated(at: datetime) -> bytes:
    """The last event of a log that its server closed to begin another."""
    return event(4, struct.pack("<Q", 4) + b"binlog.000009" + b"csum", at)


def stopped(at: datetime) -> bytes:
    """The last event of a server that was told to end."""
    return event(3, b"csum", at)


def gtid(number: int, at: datetime, *, replicated: bool = False, source: uuid.UUID = SOURCE) -> bytes:
    """A GTID event as the server writes it; a replicated transaction has its first commit's time behind its own."""
    micros = round(at.timestamp() * 1_000_000)
    own = (micros + 3_600_000_000) | 1 << 55
    rest = (own.to_bytes(7, "little") if replicated else b"") + micros.to_bytes(7, "little")
    return event(33, struct.pack("<B16sqBqq", 1, source.bytes, number, 2, 0, 1) + rest + b"checksum")


def before(*sources: tuple[uuid.UUID, Sequence[tuple[int, int]]]) -> bytes:
    """The event that says which transactions were before a log: spans of each source, up to without their ends."""
    body = struct.pack("<Q", len(sources))
    for source, spans in sources:
        body += source.bytes + struct.pack("<Q", len(spans)) + b"".join(struct.pack("<QQ", *span) for span in spans)
    return event(35, body + b"csum")


def log(*events: bytes, magic: bytes = b"\xfebin", started: bool = False, at: datetime = BEGAN) -> io.BytesIO:
    """A log, begun by a running server, or by its start."""
    server = struct.pack("<H50sI", 4, b"9.7.4", int(at.timestamp()) if started else 0)
    return io.BytesIO(magic + event(15, server + b"x" * 40, at) + b"".join(events))


def parts(given: io.BytesIO) -> list[Transaction | Closing]:
    return list(contents("log", given)[1])


def transaction(number: int, at: datetime) -> Transaction:
    return Transaction(Gtid(Origin(SOURCE), number), at)


@pytest.mark.parametrize("replicated", [False, True])
def test_transactions_come_in_order_with_their_times(replicated: bool) -> None:
    rows = event(30, b"r" * (3 << 20))
    events = [before(), gtid(7, AT, replicated=replicated), rows, gtid(8, AT), rows]
    assert parts(log(*events)) == [transaction(7, AT), transaction(8, AT)]


def test_a_log_says_how_it_was_closed() -> None:
    second = AT.replace(microsecond=0)
    assert parts(log(before(), rotated(AT))) == [Closing(second, rotated=True)]
    assert parts(log(before(), stopped(AT))) == [Closing(second, rotated=False)]


def test_a_log_says_whether_a_start_of_the_server_began_it() -> None:
    for started in (True, False):
        assert contents("log", log(before(), started=started))[0] == Opening(BEGAN, GtidSet(), rotated=not started)


# As MySQL 9.7.4 wrote them.
TAGGED = (
    "02ac000000027c22e9038ee22903228503790266210314a502845502c404211c0640615f7461675f6f665f736f6d655f6c656e6774685f3332"
    "5f636861726163745f08040a100c7f8914c6910a610610cd041283120b93f2eebf"
)
# Of a secondary: its own time is before that of the first commit.
REPLICATED = (
    "0286000000028502850285028502000080000102000000000000140404060e736f6d6574616708080a440c7f8a18e8812e61060e7fa709e8812e61"
    "06106d041283120be74b53d2"
)
BEFORE = (
    "01040000000000013e11fa4771ca11e19e33c80aa9429562000100000000000000070000000000000008000000000000003e11fa4771ca11e1"
    "9e33c80aa942956240615f7461675f6f665f736f6d655f6c656e6774685f33325f636861726163745f01000000000000008403000000000000"
    "850300000000000099a35885e83b11f18e6402fc000000010001000000000000000100000000000000040000000000000099a35885e83b11f1"
    "8e6402fc000000010c6f7264657273010000000000000001000000000000000300000000000000240f52e5"
)


def test_tags_are_read_as_the_server_writes_them() -> None:
    first, found = contents("log", log(event(35, bytes.fromhex(BEFORE)), event(42, bytes.fromhex(TAGGED))))
    assert str(first.before) == (
        f"{SOURCE}:7:a_tag_of_some_length_32_charact_:900,99a35885-e83b-11f1-8e64-02fc00000001:1-3:orders:1-2"
    )
    gtid = Gtid(Origin(SOURCE, "a_tag_of_some_length_32_charact_"), 900)
    assert list(found) == [Transaction(gtid, datetime(2026, 11, 24, 19, 18, 3, 508_873, UTC))]


def test_a_tagged_transaction_of_a_group_has_its_first_commits_time() -> None:
    _, [found] = contents("log", log(before(), event(42, bytes.fromhex(REPLICATED))))
    assert isinstance(found, Transaction)
    assert (found.gtid.number, found.at) == (1, datetime(2026, 11, 26, 14, 10, 36, 121_511, UTC))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (log(magic=b"\xfdbin"), "is encrypted"),
        (log(magic=b"<xml"), "is no binary log"),
        (io.BytesIO(b"\xfe"), "ends within an event"),
        (log(before(), event(34)), "without a GTID"),
        (io.BytesIO(log(before(), gtid(1, AT)).getvalue()[:-5]), "ends within an event"),
        (io.BytesIO(log(before(), event(30, b"r" * (3 << 20))).getvalue()[:-5]), "ends within an event"),
        (io.BytesIO(log(before()).getvalue() + b"abc"), "ends within an event"),
        (log(before(), event(33, b"x")), "an event of type 33 that is not as MySQL writes it"),
        (log(before(), event(42, b"\xff")), "an event of type 42 that is not as MySQL writes it"),
        (log(before(), event(42, bytes.fromhex(TAGGED[:60]))), "an event of type 42 that is not as MySQL writes it"),
        (log(event(35, struct.pack("<QQ", 5, 5))), "an event of type 35 that is not as MySQL writes it"),
        (io.BytesIO(b"\xfebin" + struct.pack("<IBIIIH", 0, 30, 1, 5, 0, 0)), "that is not as MySQL writes it"),
        (log(gtid(1, AT)), "does not say which transactions were before it"),
        (log(), "does not say which transactions were before it"),
    ],
)
def test_what_is_no_log_is_refused(given: io.BytesIO, why: str) -> None:
    with pytest.raises(BinlogError, match=why):
        parts(given)


def test_the_transactions_before_a_log_are_a_set_of_any_servers() -> None:
    other = uuid.UUID(int=7)
    found = contents("log", log(before((SOURCE, [(1, 6), (7, 8)]), (other, [(3, 4)])), gtid(8, AT)))[0]
    assert found.before == GtidSet.parse(f"{SOURCE}:1-5:7,{other}:3")
