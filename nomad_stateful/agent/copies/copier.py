"""Closes the server's binary log, copies what is closed to S3, and says there until when that is everything."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from nomad_stateful.agent.copies.local import LocalLogs, gap
from nomad_stateful.agent.server import NEEDED, State
from nomad_stateful.databases.mysql.archive import UNTIL, Facts, LogName, Until, UntilError, facts, log_name
from nomad_stateful.databases.mysql.binlog import BinlogError, Opening
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.ebs.bucket import Bucket, TakenError, Text, file_digest

_ALIVE = timedelta(minutes=2)


class HeldError(Exception):
    """The logs are copied, as far as they can be, and `until` stays; the text says why."""


class Server(Protocol):
    """What is asked of MySQL."""

    def state(self) -> State:
        """Says what the server has and runs with."""

    def close_log(self) -> None:
        """Closes the binary log, and begins another."""


@dataclass(frozen=True)
class _Copy:
    """A closed log that is in S3."""

    began: datetime
    key: str
    ends: GtidSet


@dataclass(frozen=True)
class _Lost:
    """What is neither in S3 nor here."""

    gtids: GtidSet
    logs: str
    """Between which logs others are missing, whatever was in them; "" between none."""


@dataclass(frozen=True)
class _Seen:
    """What there is at the beginning of a round."""

    state: State
    logs: LocalLogs
    text: Text | None
    until: Until | None
    """As it is in S3, whoever wrote it; None also where no copier did."""
    unknown: str = ""
    """Why no copier wrote it."""


class Copier:
    """Copies one server's logs; all that it has to know for that is in S3 and in the data directory."""

    def __init__(self, server: Server, datadir: Path, bucket: Bucket, folder: str, writer: str) -> None:
        """`folder` is the place of the logs in the bucket, ending in a slash; `writer` names the allocation."""
        self._server = server
        self._datadir = datadir
        self._bucket = bucket
        self._folder = folder
        self._writer = writer
        self._closed: str | None = None
        """What the server had executed when its log was closed last."""
        self._copies: dict[Path, _Copy] = {}
        self._said: str | None = None
        """What it wrote last into `until`."""

    def round(self, now: datetime) -> Until:
        """Copies once; returns what it says in S3. `now` is from before it is called.

        Raises HeldError where S3 has to say no more than before; ServerError, BinlogError, OSError, botocore's errors.
        """
        state = self._close()
        seen = self._see(state)
        archived = self._archived(seen)
        lost = self._copy(seen, archived)
        self._refuse(seen, archived, lost, now)
        said = Until(now, state.uuid, self._writer, self._newest(seen, archived), seen.logs.logged)
        self._vouch(said, seen.text)
        return said

    def _close(self) -> State:
        """Closes the log if there were transactions; those after this question are closed once more."""
        state = self._server.state()
        if state.wrong:
            self._closed = None
            wrong = " ".join(f"{name}={value}" for name, value in state.wrong.items())
            needed = " ".join(f"{name}={NEEDED[name]}" for name in state.wrong)
            raise HeldError(
                f"the binary logs do not reach further, since the server runs with {wrong} and needs {needed}. Set it "
                "back (SET GLOBAL; RESET PERSIST where it was persisted), then take a snapshot"
            )
        if state.executed != self._closed:
            self._server.close_log()
            self._closed = state.executed
        return state

    def _see(self, state: State) -> _Seen:
        logs, text = LocalLogs(self._datadir), self._bucket.read(self._folder + UNTIL)
        try:
            return _Seen(state, logs, text, Until.parse(text.text) if text else None)
        except UntilError as error:
            return _Seen(state, logs, text, None, str(error))

    def _archived(self, seen: _Seen) -> GtidSet | None:
        """Returns what S3 has of this server's logs; None where it says nothing of them, as of another server."""
        until, newest = seen.until, self._named(seen.until)
        if until is None or newest is None or until.server != seen.state.uuid:
            return None
        gtids = until.gtids if until.gtids is not None else self._ends_in_s3(until.newest)
        if gtids is None or not gtids <= seen.logs.logged:
            return None
        # Otherwise other transactions have these numbers: of a server of that UUID that went on on a volume that was
        # restored, or that began its logs anew.
        path = seen.logs.named(newest.name)
        opening = seen.logs.opening(path) if path else None
        if path is None:
            known = seen.logs.removed(newest.number) and gtids <= seen.logs.first.before
        elif opening is None:
            known = gtids <= seen.logs.ends(path)
        elif seen.text and seen.text.text == self._said:
            known = opening.began == newest.began
        else:
            known = opening.began == newest.began and _ends(path, seen.logs) == gtids
        return gtids if known else None

    def _named(self, until: Until | None) -> LogName | None:
        """Returns the newest log that `until` is true of; None where it is not below its folder, or no log."""
        if until is None or not until.newest.startswith(self._folder):
            return None
        return LogName.parse(until.newest.removeprefix(self._folder))

    def _ends_in_s3(self, key: str) -> GtidSet | None:
        """Returns all transactions up to the end of a log that an earlier release copied."""
        found = self._bucket.open(key)
        if found is None:
            return None
        metadata, body = found
        with closing(body):
            try:
                return (Facts.of_metadata(metadata) or facts(key, body)).ends
            except BinlogError:
                return None

    def _copy(self, seen: _Seen, archived: GtidSet | None) -> _Lost:
        """Copies what S3 does not have; returns what is neither there nor here."""
        logs, newest = seen.logs, self._named(seen.until) if archived is not None else None
        # Where S3 says nothing of this server, it may have most of the logs all the same.
        listed = self._bucket.list(self._folder) if newest is None else {}
        # Also logs without GTIDs: they may have transactions that have none, over which nothing is restored.
        pending = logs.after(newest.number) if newest else logs.closed
        copies: dict[Path, _Copy] = {}
        have, lost = archived, GtidSet()
        for path in pending or logs.closed[-1:]:
            opening = logs.opening(path)
            if opening is None:
                continue
            known = self._copies.get(path)
            key = self._folder + log_name(opening.began, path.name)
            # After RESET BINARY LOGS AND GTIDS another log has its name.
            if known and known.began == opening.began:
                copies[path] = known
            elif key in listed and listed[key].size == path.stat().st_size:
                copies[path] = _Copy(opening.began, key, logs.ends(path))
            else:
                copies[path] = self._store(logs, path, opening, key)
            self._copies[path] = copies[path]
            if have is not None:
                lost |= opening.before - have
            have = copies[path].ends | (have or GtidSet())
        self._copies = copies
        if archived is not None:
            lost |= logs.logged - (have or GtidSet())
        there = [path.name for path in pending if path in copies] + [logs.open.name]
        return _Lost(lost, gap([newest.name, *there] if newest else there))

    def _store(self, logs: LocalLogs, path: Path, opening: Opening, key: str) -> _Copy:
        found, size = _facts(path), path.stat().st_size
        ends, metadata = (found.ends, found.metadata()) if found else (logs.ends(path), {})
        # The last log before a restore of the volume is shorter than the one that the old server copied.
        for one in (key, f"{key}-{size}"):
            try:
                self._bucket.store(one, path, metadata)
            except TakenError:
                stored = self._bucket.head(one)
                if stored is None or stored.size != size:
                    continue
                # The answer to what was stored may have been lost.
                if self._bucket.digest(one) != file_digest(path):
                    break
            return _Copy(opening.began, one, ends)
        raise HeldError(f"s3://{self._bucket.name}/{one} is not the server's {path.name}: somebody else wrote it")

    def _refuse(self, seen: _Seen, archived: GtidSet | None, lost: _Lost, now: datetime) -> None:
        """Raises HeldError where `until` may not be replaced."""
        if seen.unknown:
            raise HeldError(f"{self._place} {seen.unknown}: somebody else wrote it. Take a snapshot, then remove it")
        until = seen.until
        if until is None:
            return
        gone, anew = lost.gtids, archived is None and self._begins_anew(seen)
        if anew or (archived is None and until.writer == self._writer):
            gone |= (until.gtids or GtidSet()) - seen.logs.logged
        if gone or lost.logs or anew:
            raise HeldError(
                "transactions are lost, in binary logs that were removed before they were copied: "
                f"{gone or lost.logs or 'these logs begin anew'}. "
                f"{self._place} stays. The logs after them are copied; take a snapshot, which these go on from, then "
                f"remove {self._place}"
            )
        # Another allocation of this server is gone when this one begins.
        rival = until.writer not in ("", self._writer) and until.moment > now - _ALIVE
        if rival and (archived is None or self._said is not None):
            raise HeldError(
                f"{self._place} is written for server {until.server} by allocation {until.writer}: this server's logs "
                "are copied, but do not count until that one stops"
            )

    def _begins_anew(self, seen: _Seen) -> bool:
        """Returns whether the server removed all of its logs, as RESET BINARY LOGS AND GTIDS does."""
        until, newest = seen.until, self._named(seen.until)
        if until is None or newest is None or until.server != seen.state.uuid:
            return False
        # On a volume that was restored the first log is older, or goes on from there.
        return seen.logs.first.began > newest.began

    def _newest(self, seen: _Seen, archived: GtidSet | None) -> str:
        """Returns the key of the newest log that is in S3."""
        if seen.logs.closed and (copy := self._copies.get(seen.logs.closed[-1])):
            return copy.key
        if seen.until and archived is not None:
            return seen.until.newest
        raise HeldError("no binary log is closed yet")

    def _vouch(self, said: Until, text: Text | None) -> None:
        try:
            self._bucket.write(self._folder + UNTIL, said.text(), text)
            self._said = said.text()
        except TakenError:
            raise HeldError(f"{self._place} was written by another one meanwhile: the next round reads it") from None

    @property
    def _place(self) -> str:
        return f"s3://{self._bucket.name}/{self._folder}{UNTIL}"


def _facts(path: Path) -> Facts | None:
    """Returns what a log says; None where it has more than GTIDs, as from before its server had them."""
    try:
        with path.open("rb") as log:
            return facts(path.name, log)
    except BinlogError:
        return None


def _ends(path: Path, logs: LocalLogs) -> GtidSet:
    found = _facts(path)
    return found.ends if found else logs.ends(path)
