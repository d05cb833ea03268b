"""What MySQL's binary logs say of their transactions: which they are, and when they were committed.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from operate.errors import OperateError

_MAGIC, _ENCRYPTED = b"\xfebin", b"\xfdbin"
# Time, type, server, size with header, next position, flags; the size leads to the next event.
_HEADER = struct.Struct("<IBIIIH")
_ANONYMOUS, _GTID, _TAGGED = 34, 33, 42
# Flags, source, number, kind of clock, and two places in it; then the time of the commit in µs, of 7 bytes.
_BODY = struct.Struct("<B16sqBqq")
_TIME_BYTES, _TIME_BITS = 7, 55
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
    committed: datetime
    """When its server committed it, in µs and UTC."""


def transactions(name: str, log: Readable) -> Iterator[Transaction]:
    """Yields a log's transactions in order. Raises BinlogError."""
    magic = log.read(4)
    if magic == _ENCRYPTED:
        raise BinlogError(f"{name} is encrypted, and its key is the old server's: set binlog_encryption OFF")
    if magic != _MAGIC:
        raise BinlogError(f"{name} is no binary log: it begins with {magic!r}")
    while header := _read(name, log, _HEADER.size, ends=True):
        _, kind, _, size, _, _ = _HEADER.unpack(header)
        rest = size - _HEADER.size
        if kind in (_ANONYMOUS, _TAGGED):
            what = "without a GTID" if kind == _ANONYMOUS else "with a tagged GTID"
            raise BinlogError(
                f"{name} has a transaction {what}: it is from before pointInTime was set, or a session has its own "
                "gtid_next. Restore from a snapshot taken after it, with --snapshot"
            )
        if kind != _GTID:
            _skip(name, log, rest)
            continue
        yield _transaction(_read(name, log, rest))


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
