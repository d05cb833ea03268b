"""What MySQL's binary logs say: of their transactions, which and when committed, and of how each log was closed.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from operate.errors import OperateError

_MAGIC, _ENCRYPTED = b"\xfebin", b"\xfdbin"
# Time, type, server, size with header, next position, flags; the size leads to the next event.
_HEADER = struct.Struct("<IBIIIH")
_ANONYMOUS, _GTID, _PREVIOUS, _TAGGED = 34, 33, 35, 42
_STOP, _ROTATE = 3, 4
# Flags, source, number, kind of clock, and two places in it; then the time of the commit in µs, of 7 bytes.
_BODY = struct.Struct("<B16sqBqq")
_TIME_BYTES, _TIME_BITS = 7, 55
# A set of GTIDs: how many sources; each with its UUID and how many intervals; each from, and up to without.
_COUNT, _SOURCE, _INTERVAL = struct.Struct("<Q"), struct.Struct("<16sQ"), struct.Struct("<QQ")
_TAGS = 1 << 56
_CHUNK = 1 << 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BinlogError(OperateError):
    """A log cannot be read; the text is the whole message."""


class Readable(Protocol):
    """A file, or the body of an answer of S3."""

    def read(self, size: int, /) -> bytes:
        """Returns up to so many bytes, none at the end."""


@dataclass(frozen=True)
class Transaction:
    """One transaction of a log."""

    gtid: str
    """SOURCE:NUMBER."""
    at: datetime
    """When its server committed it, in µs and UTC."""


@dataclass(frozen=True)
class Closing:
    """How a server closed a log; it is not there where the server was killed, or its volume restored."""

    at: datetime
    """What was committed before is in this log or an earlier one; in seconds and UTC."""
    rotated: bool
    """Whether it began the next log at once; otherwise it ended."""


class GtidSet:
    """A set of GTIDs in the server's notation, UUID:1-5:7, as short as it can be; equal sets are equal texts."""

    def __init__(self, text: str = "") -> None:
        self._spans: dict[str, list[list[int]]] = {}
        for part in filter(None, text.split(",")):
            source, *spans = part.split(":")
            for span in spans:
                first, _, last = span.partition("-")
                self._spans.setdefault(source, []).append([int(first), int(last or first)])

    def add(self, gtid: str) -> None:
        source, _, text = gtid.rpartition(":")
        number, spans = int(text), self._spans.setdefault(source, [])
        # Commits are in order but for a few: the newest span is the one that grows.
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])

    def __str__(self) -> str:
        return ",".join(f"{source}:{_spans(_merged(spans))}" for source, spans in sorted(self._spans.items()))


def contents(name: str, log: Readable) -> Iterator[Transaction | Closing]:
    """Yields a log's transactions in order, and at last how it was closed. Raises BinlogError."""
    for at, kind, size in _events(name, log):
        if kind in (_ANONYMOUS, _TAGGED):
            what = "without a GTID" if kind == _ANONYMOUS else "with a tagged GTID"
            raise BinlogError(
                f"{name} has a transaction {what}: it is from before pointInTime was set, or a session has its own "
                "gtid_next. Restore from a snapshot taken after it, with --snapshot"
            )
        if kind == _GTID:
            yield _transaction(_read(name, log, size))
            continue
        _skip(name, log, size)
        if kind in (_ROTATE, _STOP):
            yield Closing(at, kind == _ROTATE)


def previous(name: str, log: Readable) -> str:
    """Returns the GTIDs of all transactions before a log, as the server writes sets. Raises BinlogError."""
    for _, kind, size in _events(name, log):
        if kind == _PREVIOUS:
            return _gtids(name, _read(name, log, size))
        _skip(name, log, size)
    raise BinlogError(f"{name} does not say which transactions were before it: it is no log of MySQL 8")


def _merged(spans: Iterable[list[int]]) -> list[list[int]]:
    found: list[list[int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1][1] = max(found[-1][1], last)
        else:
            found.append([first, last])
    return found


def _spans(spans: Iterable[Iterable[int]]) -> str:
    return ":".join(f"{first}-{last}" if first != last else f"{first}" for first, last in spans)


def _gtids(name: str, body: bytes) -> str:
    (count,) = _COUNT.unpack_from(body)
    if count >= _TAGS:
        raise BinlogError(f"{name} comes after transactions with tagged GTIDs, which are not supported")
    at, found = _COUNT.size, []
    for _ in range(count):
        source, intervals = _SOURCE.unpack_from(body, at)
        at += _SOURCE.size
        spans = [_INTERVAL.unpack_from(body, at + _INTERVAL.size * n) for n in range(intervals)]
        at += _INTERVAL.size * intervals
        found.append(f"{uuid.UUID(bytes=source)}:{_spans((first, after - 1) for first, after in spans)}")
    return ",".join(found)


def _events(name: str, log: Readable) -> Iterator[tuple[datetime, int, int]]:
    """Yields each event's time, kind and the size of what follows its header, which the caller has to read."""
    magic = log.read(4)
    if magic == _ENCRYPTED:
        raise BinlogError(f"{name} is encrypted, and its key is the old server's: set binlog_encryption OFF")
    if magic != _MAGIC:
        raise BinlogError(f"{name} is no binary log: it begins with {magic!r}")
    while header := _read(name, log, _HEADER.size, ends=True):
        seconds, kind, _, size, _, _ = _HEADER.unpack(header)
        yield _EPOCH + timedelta(seconds=seconds), kind, size - _HEADER.size


def _transaction(body: bytes) -> Transaction:
    _, source, number, _, _, _ = _BODY.unpack_from(body)
    known = int.from_bytes(body[_BODY.size : _BODY.size + _TIME_BYTES], "little") & ((1 << _TIME_BITS) - 1)
    return Transaction(f"{uuid.UUID(bytes=source)}:{number}", _EPOCH + timedelta(microseconds=known))


def _read(name: str, log: Readable, size: int, *, ends: bool = False) -> bytes:
    found = b""
    while len(found) < size and (more := log.read(size - len(found))):
        found += more
    if len(found) < size and (found or not ends):
        raise BinlogError(f"{name} ends within an event: it was not closed when it was copied")
    return found


def _skip(name: str, log: Readable, size: int) -> None:
    while size:
        size -= len(_read(name, log, min(size, _CHUNK)))
