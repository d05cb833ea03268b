"""Closes the server's binary log, copies what is closed to S3, and says there until when that is everything."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from nomad_stateful.agent.binlogs.local import LocalLogs
from nomad_stateful.agent.bucket import Bucket, TakenError, Text
from nomad_stateful.agent.server import NEEDED, State
from nomad_stateful.databases.mysql.archive import UNTIL, Facts, LogName, Until, UntilError, facts, log_name
from nomad_stateful.databases.mysql.binlog import Opening
from nomad_stateful.databases.mysql.gtids import GtidSet

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
class _Seen:
    """What there is at the beginning of a round."""

    state: State
    logs: LocalLogs
    text: Text | None
    until: Until | None
    """As it is in S3, whoever wrote it."""


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
        self._vouches = False

    def round(self, now: datetime) -> Until:
        """Copies once; returns what it says in S3. `now` is from before it is called.

        Raises HeldError where S3 has to say no more than before; ServerError, BinlogError, OSError, botocore's errors.
        """
        state = self._close()
        seen = _Seen(state, LocalLogs(self._datadir), *self._until())
        archived = self._archived(seen)
        lost = self._copy(seen.logs, archived)
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

    def _until(self) -> tuple[Text | None, Until | None]:
        text = self._bucket.read(self._folder + UNTIL)
        if text is None:
            return None, None
        try:
            return text, Until.parse(text.text)
        except UntilError as error:
            raise HeldError(f"{self._place} {error}: somebody else wrote it. Take a snapshot, then remove it") from None

    def _archived(self, seen: _Seen) -> GtidSet | None:
        """Returns what S3 has of this server's logs; None where it says nothing of them, as of another server."""
        until = seen.until
        if until is None or until.server != seen.state.uuid:
            return None
        gtids = until.gtids if until.gtids is not None else self._ends_in_s3(until.newest)
        if gtids is None or not gtids <= seen.logs.logged:
            return None
        if not self._vouches and (newest := LogName.parse(until.newest.removeprefix(self._folder))):
            path = seen.logs.named(newest.name)
            opening = seen.logs.opening(path) if path else None
            if path and opening and (opening.began != newest.began or _facts(path).ends != gtids):
                # On a volume that was restored a server of that UUID went on with other transactions of these numbers.
                return None
        return gtids

    def _ends_in_s3(self, key: str) -> GtidSet | None:
        """Returns all transactions up to the end of a log that an earlier release copied."""
        found = self._bucket.open(key) if key.startswith(self._folder) else None
        if found is None:
            return None
        metadata, body = found
        with closing(body):
            return (Facts.of_metadata(metadata) or facts(key, body)).ends

    def _copy(self, logs: LocalLogs, archived: GtidSet | None) -> GtidSet:
        """Copies what S3 does not have; returns the transactions of logs that are neither there nor here."""
        # Where S3 says nothing of this server, it may have most of the logs all the same.
        listed = self._bucket.sizes(self._folder) if archived is None else {}
        copies: dict[Path, _Copy] = {}
        have, lost = archived, GtidSet()
        for path in logs.pending(archived) or logs.closed[-1:]:
            opening = logs.opening(path)
            if opening is None:
                continue
            known = self._copies.get(path)
            key = self._folder + log_name(opening.began, path.name)
            # After RESET BINARY LOGS AND GTIDS another log has its name.
            if known and known.began == opening.began:
                copies[path] = known
            elif listed.get(key) == path.stat().st_size:
                copies[path] = _Copy(opening.began, key, logs.ends(path))
            else:
                copies[path] = self._store(path, opening, key)
            self._copies[path] = copies[path]
            if have is not None:
                lost |= opening.before - have
            have = copies[path].ends | (have or GtidSet())
        self._copies = copies
        return lost if archived is None else lost | (logs.logged - (have or GtidSet()))

    def _store(self, path: Path, opening: Opening, key: str) -> _Copy:
        found = _facts(path)
        size = path.stat().st_size
        # The last log before a restore of the volume is shorter than the one that the old server copied.
        for one in (key, f"{key}-{size}"):
            try:
                self._bucket.store(one, path, found.metadata())
            except TakenError:
                if self._bucket.size(one) != size:
                    continue
            return _Copy(opening.began, one, found.ends)
        raise HeldError(f"s3://{self._bucket.name}/{key}-{size} is another log: somebody else wrote it")

    def _refuse(self, seen: _Seen, archived: GtidSet | None, lost: GtidSet, now: datetime) -> None:
        """Raises HeldError where `until` may not be replaced."""
        until = seen.until
        if until is None:
            return
        if archived is None and until.writer == self._writer:
            lost |= (until.gtids or GtidSet()) - seen.logs.logged
        if lost:
            raise HeldError(
                f"transactions are lost, in binary logs that were removed before they were copied: {lost}. "
                f"{self._place} stays. The logs after them are copied; take a snapshot, which these go on from, then "
                f"remove {self._place}"
            )
        # Another allocation of this server is gone when this one begins.
        rival = until.writer not in ("", self._writer) and until.moment > now - _ALIVE
        if rival and (archived is None or self._vouches):
            raise HeldError(
                f"{self._place} is written for server {until.server} by allocation {until.writer}: this server's logs "
                "are copied, but not vouched for until that one stops"
            )

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
        except TakenError:
            raise HeldError(f"{self._place} was written by another one meanwhile: the next round reads it") from None
        self._vouches = True

    @property
    def _place(self) -> str:
        return f"s3://{self._bucket.name}/{self._folder}{UNTIL}"


def _facts(path: Path) -> Facts:
    with path.open("rb") as log:
        return facts(path.name, log)
