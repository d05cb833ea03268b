"""Closes the server's binary log, copies what is closed to S3, and says there until when that is everything.

Of a replication group each member closes its logs, but only the primary copies. What it writes into `until` has to be
true of the group: no row that any member acknowledged before that moment may be missing in S3.

1. The copier takes the time. 2. It asks its server with the consistency BEFORE: the server answers once it has executed
all that the group ordered before the question. 3. It closes the log, 4. copies each closed log with transactions that
`until` does not have, 5. and replaces `until`, if nobody else has since 4 began.

A row was ordered by the group before its acknowledgement. So those acknowledged before 1 are ordered before 2, executed
and logged before 3, and in S3 before 5, whoever was the primary then, and whoever becomes it on the way. The question
itself is ordered by a majority: a member that was cut off or expelled gets no answer, nor does one that was paused
meanwhile and expelled. If it was paused after 2, what it says of the time of 1 stays true; another one that has written
`until` meanwhile has made 5 fail. A server that is in no group is read-only, and says so in the same answer.
"""

from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

from nomad_stateful.agent.copies.local import LocalLogs, facts_of, gap, last_commits
from nomad_stateful.agent.copies.model import Copy, HeldError, Lost, Seen, Server
from nomad_stateful.agent.server import NEEDED, State
from nomad_stateful.databases.mysql.archive import UNTIL, Facts, LogName, Until, UntilError, facts, log_name
from nomad_stateful.databases.mysql.binlog import BinlogError, Opening
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.ebs.bucket import Bucket, TakenError, Text, file_digest

_ALIVE = timedelta(minutes=2)
_AS_MEMBER = "member"
"""In the names of logs that a single server wrote while it was a member of a group."""


class Copier:
    """Copies one server's logs; all that it has to know for that is in S3 and in the data directory."""

    def __init__(
        self, server: Server, datadir: Path, bucket: Bucket, folder: str, writer: str, *, member: str = ""
    ) -> None:
        """`folder` is the place of the logs in the bucket, ending in a slash; `writer` names the allocation.

        `member` is the server's name in its group, "" for a single server.
        """
        self._server = server
        self._member = member
        self._datadir = datadir
        self._bucket = bucket
        self._folder = folder
        self._writer = writer
        self._closed: str | None = None
        """What the server had executed when its log was closed last."""
        self._copies: dict[Path, Copy] = {}
        self._said: str | None = None
        """What it wrote last into `until`."""

    def round(self, now: datetime) -> Until:
        """Copies once; returns what it says in S3. `now` is from before it is called.

        Raises HeldError where S3 has to say no more than before; ServerError, BinlogError, OSError, botocore's errors.
        """
        state = self._close()
        seen = self._see(state)
        archived = self._archived(seen, now)
        lost = self._copy(seen, archived)
        self._refuse(seen, archived, lost, now)
        gtids = seen.executed if self._member else seen.logs.logged
        said = Until(now, state.uuid, self._writer, self._newest(seen, archived), gtids)
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
        if state.is_secondary:
            raise HeldError(f"{self._member} is a secondary of its group: the logs of the primary are copied")
        return state

    def _see(self, state: State) -> Seen:
        logs, text = LocalLogs(self._datadir), self._bucket.read(self._folder + UNTIL)
        try:
            return Seen(state, logs, text, Until.parse(text.text) if text else None)
        except UntilError as error:
            return Seen(state, logs, text, None, str(error))

    def _archived(self, seen: Seen, now: datetime) -> GtidSet | None:
        """Returns what S3 has of this server's logs; None where it says nothing of them, as of another server."""
        until, newest = seen.until, self._named(seen.until)
        if until and newest and newest.member:
            # Whichever member copied it: all have the same transactions.
            return self._of_group(seen, until, now)
        if self._member or until is None or newest is None or until.server != seen.state.uuid:
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

    def _of_group(self, seen: Seen, until: Until, now: datetime) -> GtidSet | None:
        """Returns what S3 has of the group's logs. Raises HeldError where `until` is another group's, or newer."""
        others = (until.gtids or GtidSet()) - seen.executed
        # A single server may go on from an older volume: it numbers its transactions by itself.
        if others and not self._member:
            return None
        if others := others or self._named_anew(seen, until):
            raise HeldError(
                f"{self._place} is of transactions that this group does not have ({others}): another group copies to "
                "the same place, or this one goes on from an older volume, or without members that alone had them, and "
                "its transactions have the names of those. Set another pointInTime.s3.prefix"
            )
        if self._member and until.moment > now:
            raise HeldError(f"{self._place} was written by another member meanwhile: the next round reads it")
        return until.gtids

    def _named_anew(self, seen: Seen, until: Until) -> GtidSet:
        """Returns which of the last transactions in S3 are not those that this group has under their names."""
        is_own = seen.text is not None and seen.text.text == self._said
        found = None if is_own else self._bucket.open(until.newest)
        if found is None:
            return GtidSet()
        with closing(found[1]) as body:
            return seen.logs.unlike(last_commits(until.newest, body))

    def _named(self, until: Until | None) -> LogName | None:
        """Returns the newest log that `until` is true of; None where it is not below its folder, or no log."""
        if until is None or not until.newest.startswith(self._folder):
            return None
        return self._name(until.newest)

    def _name(self, key: str) -> LogName | None:
        """Returns what a key says of its log; None where it is no log's."""
        return LogName.parse(key.removeprefix(self._folder))

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

    def _copy(self, seen: Seen, archived: GtidSet | None) -> Lost:
        """Copies what S3 does not have; returns what is neither there nor here."""
        logs, until = seen.logs, seen.until if archived is not None else None
        newest = self._named(until)
        # Where S3 says nothing of this server, it may have most of the logs all the same. Where a group's members wrote
        # the newest, the names in S3 say which logs a single server wrote since.
        was_member = newest is not None and newest.member and not self._member
        listed = self._bucket.list(self._folder) if newest is None or was_member else {}
        names = list(filter(None, map(self._name, listed)))
        as_member = frozenset(() if self._member else seen.as_member(names, self._named(seen.until)))
        copies: dict[Path, Copy] = {}
        have, lost = archived, GtidSet()
        # Also logs without GTIDs: they may have transactions that have none, over which nothing is restored.
        if archived is not None and until and newest and newest.member:
            pending = logs.lacking(archived, None if self._member else until.moment)
            lost, newest = seen.unlogged - archived, None
        else:
            pending = logs.after(newest.number) if newest else logs.closed
        for path in pending or ([] if self._member else logs.closed[-1:]):
            opening = logs.opening(path)
            if opening is None:
                continue
            known = self._copies.get(path)
            key = self._folder + log_name(opening.began, path.name, self._member)
            if path in as_member and key not in listed:
                key = self._folder + log_name(opening.began, path.name, _AS_MEMBER)
            # After RESET BINARY LOGS AND GTIDS another log has its name.
            if known and known.began == opening.began:
                copies[path] = known
            elif key in listed and listed[key].size == path.stat().st_size:
                copies[path] = Copy(opening.began, key, logs.ends(path))
            else:
                copies[path] = self._store(seen, path, opening, key)
            self._copies[path] = copies[path]
            if have is not None:
                lost |= opening.before - have
            have = copies[path].ends | (have or GtidSet())
        self._copies = copies
        if archived is not None:
            lost |= logs.logged - (have or GtidSet())
        there = [path.name for path in pending if path in copies] + [logs.open.name]
        return Lost(lost, "" if self._member else gap([newest.name, *there] if newest else there))

    def _store(self, seen: Seen, path: Path, opening: Opening, key: str) -> Copy:
        named = self._name(key)
        found, size = facts_of(path, seen.unlogged if named and named.member else None), path.stat().st_size
        ends, metadata = (found.ends, found.metadata()) if found else (seen.logs.ends(path), {})
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
            return Copy(opening.began, one, ends)
        raise HeldError(f"s3://{self._bucket.name}/{one} is not the server's {path.name}: somebody else wrote it")

    def _refuse(self, seen: Seen, archived: GtidSet | None, lost: Lost, now: datetime) -> None:
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
        # Another allocation of this server is gone when this one begins; another member need not be.
        rival = until.writer not in ("", self._writer) and until.moment > now - _ALIVE
        lives = self._said is not None or until.server != seen.state.uuid
        if rival and (archived is None or (lives and not self._member)):
            raise HeldError(
                f"{self._place} is written for server {until.server} by allocation {until.writer}: this server's logs "
                "are copied, but do not count until that one stops"
            )

    def _begins_anew(self, seen: Seen) -> bool:
        """Returns whether the server removed all of its logs, as RESET BINARY LOGS AND GTIDS does."""
        until, newest = seen.until, self._named(seen.until)
        # A single server that becomes a group has.
        if self._member:
            return False
        if until is None or newest is None or until.server != seen.state.uuid:
            return False
        # On a volume that was restored the first log is older, or goes on from there.
        return seen.logs.first.began > newest.began

    def _newest(self, seen: Seen, archived: GtidSet | None) -> str:
        """Returns the key of the newest log that is in S3."""
        # Of a group the next primary compares its own with that log's transactions.
        filled = (path for path in reversed(seen.logs.closed) if not self._member or seen.logs.own(path))
        path = next(filled, [seen.logs.open, *seen.logs.closed][-1])
        copy = self._copies.get(path)
        key = copy.key if copy else seen.until.newest if seen.until and archived is not None else ""
        named = self._name(key)
        if named and named.member and not self._member:
            # What a single server logged would be taken for all that the group has.
            self._closed = None
            raise HeldError("no binary log that the server wrote alone is closed yet: the next round closes one")
        if not key:
            raise HeldError("no binary log is closed yet")
        return key

    def _vouch(self, said: Until, text: Text | None) -> None:
        try:
            self._bucket.write(self._folder + UNTIL, said.text(), text)
            self._said = said.text()
        except TakenError:
            raise HeldError(f"{self._place} was written by another one meanwhile: the next round reads it") from None

    @property
    def _place(self) -> str:
        return f"s3://{self._bucket.name}/{self._folder}{UNTIL}"


def _ends(path: Path, logs: LocalLogs) -> GtidSet:
    found = facts_of(path)
    return found.ends if found else logs.ends(path)
