"""What MySQL's binary logs say: how each began and was closed, and which transactions it has, committed when.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
"""

import struct
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from nomad_stateful.databases.mysql.gtids import Gtid, GtidSet, Origin

_MAGIC, _ENCRYPTED = b"\xfebin", b"\xfdbin"
# Time, type, server, size with header, next position, flags; the size leads to the next event.
_HEADER = struct.Struct("<IBIIIH")
_STOP, _ROTATE, _FORMAT = 3, 4, 15
_GTID, _ANONYMOUS, _PREVIOUS, _TAGGED = 33, 34, 35, 42
# Versions of the format and the server, and when a start of the server created the log: 0 after a rotation.
_CREATED = struct.Struct("<2x50xI")
# Flags, source, number, kind of clock, and two places in it; then the time of the commit in µs, of 7 bytes, whose last
# bit says whether that of the first commit follows.
_BODY = struct.Struct("<B16sqBqq")
_TIME_BYTES, _TIME_BITS = 7, 55
_FIRST_COMMIT = 7
# A set of GTIDs: how many sources; each with its UUID and how many intervals; each from, and up to without.
_COUNT, _INTERVAL = struct.Struct("<Q"), struct.Struct("<QQ")
# Of a set with tags the count is between two bytes that say so.
_WITH_TAGS, _COUNT_BITS = 1, 48
_PARTS = frozenset({_STOP, _ROTATE, _FORMAT, _GTID, _ANONYMOUS, _PREVIOUS, _TAGGED})
# Of the sets that begin a log, with millions of holes; read at once, unlike rows.
_LARGEST = 1 << 28
_CHUNK = 1 << 20
_MALFORMED = (struct.error, IndexError, ValueError, OverflowError)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BinlogError(Exception):
    """A log cannot be read; the text is the whole message."""


class Readable(Protocol):
    """A file, or the body of an answer of S3."""

    def read(self, size: int, /) -> bytes:
        """Returns up to so many bytes, none at the end."""


@dataclass(frozen=True)
class Opening:
    """How a log begins."""

    began: datetime
    """In seconds and UTC."""
    before: GtidSet
    """All transactions of the logs before it."""
    rotated: bool
    """Whether a running server went over to it from the log before it; otherwise a start of the server began it."""


@dataclass(frozen=True)
class Transaction:
    """One transaction of a log."""

    gtid: Gtid
    at: datetime
    """When it was first committed, in µs and UTC: in the logs of all members of a group the same time."""


@dataclass(frozen=True)
class Closing:
    """How a server closed a log; it is not there where the server was killed, or its volume restored."""

    at: datetime
    """What was committed before is in this log or an earlier one; in seconds and UTC."""
    rotated: bool
    """Whether it began the next log at once; otherwise it ended."""


def contents(name: str, log: Readable) -> tuple[Opening, Iterator[Transaction | Closing]]:
    """Returns how a log begins, and what reads on: its transactions in order, and at last how it was closed.

    Both raise BinlogError.
    """
    events, created, began = _events(name, log), 0, 0
    for seconds, kind, body in events:
        try:
            if kind == _PREVIOUS:
                opening = Opening(_EPOCH + timedelta(seconds=began), _gtids(body), rotated=not created)
                return opening, _parts(name, events)
            if kind != _FORMAT:
                break
            (created,), began = _CREATED.unpack_from(body), seconds
        except _MALFORMED:
            raise _malformed(name, kind) from None
    raise BinlogError(f"{name} does not say which transactions were before it: it is no log of MySQL 8")


def _parts(name: str, events: Iterator[tuple[int, int, bytes]]) -> Iterator[Transaction | Closing]:
    for seconds, kind, body in events:
        if kind == _ANONYMOUS:
            raise BinlogError(
                f"{name} has a transaction without a GTID: it is from before pointInTime was set, or a session has its "
                "own gtid_next"
            )
        try:
            if kind in (_GTID, _TAGGED):
                yield _transaction(body) if kind == _GTID else _tagged(body)
            elif kind in (_ROTATE, _STOP):
                yield Closing(_EPOCH + timedelta(seconds=seconds), rotated=kind == _ROTATE)
        except _MALFORMED:
            raise _malformed(name, kind) from None


def _malformed(name: str, kind: int) -> BinlogError:
    return BinlogError(f"{name} has an event of type {kind} that is not as MySQL writes it")


def _gtids(body: bytes) -> GtidSet:
    (count,) = _COUNT.unpack_from(body)
    tags = count >> 56 == _WITH_TAGS
    count = (count >> 8) & ((1 << _COUNT_BITS) - 1) if tags else count
    at, intervals = _COUNT.size, dict[Origin, list[tuple[int, int]]]()
    for _ in range(count):
        source, tag, at = uuid.UUID(bytes=body[at : at + 16]), "", at + 16
        if tags:
            length, at = _number(body, at)
            tag, at = body[at : at + length].decode("ascii"), at + length
        (spans,) = _COUNT.unpack_from(body, at)
        at += _COUNT.size
        end = at + _INTERVAL.size * spans
        intervals[Origin(source, tag)] = list(_INTERVAL.iter_unpack(body[at:end]))
        at = end
    return GtidSet(intervals)


def _transaction(body: bytes) -> Transaction:
    _, source, number, _, _, _ = _BODY.unpack_from(body)
    own, first = (
        int.from_bytes(body[at : at + _TIME_BYTES], "little") for at in (_BODY.size, _BODY.size + _TIME_BYTES)
    )
    micros = first if own >> _TIME_BITS else own
    return Transaction(Gtid(Origin(uuid.UUID(bytes=source)), number), _EPOCH + timedelta(microseconds=micros))


def _tagged(body: bytes) -> Transaction:
    """Returns a transaction of a tagged GTID: a row of fields, each with its id before it.

    https://dev.mysql.com/doc/dev/mysql-server/latest/PageLibsMysqlSerialization.html
    """
    at, values = 0, []
    # Version, size and last field that has to be known; then id and value of the flags, and the id of the source.
    for _ in range(6):
        _, at = _number(body, at)
    for _ in range(16):
        byte, at = _number(body, at)
        values.append(byte)
    _, at = _number(body, at)
    number, at = _signed(body, at)
    _, at = _number(body, at)
    length, at = _number(body, at)
    tag, at = body[at : at + length].decode("ascii"), at + length
    # Two places in the server's clock, then the time of the commit in µs.
    for _ in range(2):
        _, at = _number(body, at)
        _, at = _signed(body, at)
    _, at = _number(body, at)
    micros, at = _number(body, at)
    field, at = _number(body, at)
    if field == _FIRST_COMMIT:
        micros, at = _number(body, at)
    gtid = Gtid(Origin(uuid.UUID(bytes=bytes(values)), tag), number)
    return Transaction(gtid, _EPOCH + timedelta(microseconds=micros))


def _number(body: bytes, at: int) -> tuple[int, int]:
    """Returns a number of 1 to 9 bytes, as the ones at the first byte's end say, and where it ends."""
    more = (~body[at] & (body[at] + 1)).bit_length() - 1
    end = at + more + 1
    bits = int.from_bytes(body[at:end], "little")
    return bits >> min(more + 1, 8), end


def _signed(body: bytes, at: int) -> tuple[int, int]:
    """Returns a number that may be negative, whose last bit says so, and where it ends."""
    bits, end = _number(body, at)
    return (bits >> 1) ^ -(bits & 1), end


def _events(name: str, log: Readable) -> Iterator[tuple[int, int, bytes]]:
    """Yields time, kind and body of the events that say something; there may be millions of others."""
    source = _Source(name, log)
    magic = source.take(len(_MAGIC), ends=True)
    if magic == _ENCRYPTED:
        raise BinlogError(f"{name} is encrypted, and its key is the old server's: set binlog_encryption OFF")
    if magic != _MAGIC:
        raise BinlogError(f"{name} is no binary log: it begins with {magic!r}")
    while header := source.take(_HEADER.size, ends=True):
        seconds, kind, _, size, _, _ = _HEADER.unpack(header)
        size -= _HEADER.size
        if size < 0 or (size > _LARGEST and kind in _PARTS):
            raise _malformed(name, kind)
        if kind in _PARTS:
            yield seconds, kind, source.take(size)
        else:
            source.skip(size)


class _Source:
    """A log's bytes, of which few are wanted."""

    def __init__(self, name: str, log: Readable) -> None:
        self._name, self._log = name, log
        self._chunk, self._at = b"", 0

    def take(self, size: int, *, ends: bool = False) -> bytes:
        """Returns so many bytes; none where the log ends there and may. Raises BinlogError."""
        if self._at + size > len(self._chunk):
            self._chunk, self._at = self._chunk[self._at :], 0
            while len(self._chunk) < size and (more := self._log.read(_CHUNK)):
                self._chunk += more
        found = self._chunk[self._at : self._at + size]
        if len(found) < size and (found or not ends):
            raise self._cut()
        self._at += size
        return found

    def skip(self, size: int) -> None:
        """Leaves so many bytes out. Raises BinlogError."""
        self._at += size
        while self._at > len(self._chunk):
            self._at -= len(self._chunk)
            self._chunk = self._log.read(_CHUNK)
            if not self._chunk:
                raise self._cut()

    def _cut(self) -> BinlogError:
        return BinlogError(f"{self._name} ends within an event: it was not closed when it was copied")
