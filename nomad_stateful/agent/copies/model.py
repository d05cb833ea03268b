"""What a copier knows in a round: the server, its logs, and what is in S3."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from nomad_stateful.agent.copies.local import LocalLogs
from nomad_stateful.agent.server import State
from nomad_stateful.databases.mysql.archive import LogName, Until
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.ebs.bucket import Text


class HeldError(Exception):
    """The logs are copied, as far as they can be, and `until` stays; the text says why."""


class Server(Protocol):
    """What is asked of MySQL."""

    def state(self) -> State:
        """Says what the server has and runs with."""

    def close_log(self) -> None:
        """Closes the binary log, and begins another."""


@dataclass(frozen=True)
class Copy:
    """A closed log that is in S3."""

    began: datetime
    key: str
    ends: GtidSet


@dataclass(frozen=True)
class Lost:
    """What is neither in S3 nor here."""

    gtids: GtidSet
    logs: str
    """Between which logs others are missing, whatever was in them; "" between none."""


@dataclass(frozen=True)
class Seen:
    """What there is at the beginning of a round."""

    state: State
    logs: LocalLogs
    text: Text | None
    until: Until | None
    """As it is in S3, whoever wrote it; None also where no copier did."""
    unknown: str = ""
    """Why no copier wrote it."""

    @property
    def executed(self) -> GtidSet:
        """All transactions up to the end of the closed logs."""
        return GtidSet.parse(self.state.executed) | self.logs.logged

    @property
    def unlogged(self) -> GtidSet:
        """Those of them that are in no log of the server, as they came with a copy of another server's data."""
        return self.executed - self.logs.logged

    def as_member(self, stored: Collection[LogName], newest: LogName | None) -> list[Path]:
        """Returns the logs that a single server may have written as a member of a group: it may have been behind.

        Members start too, also after `until`, which is true of `newest`. But the server that a single server's logs are
        copied of has run alone since its last start at least: what was copied as a single server's after the group's
        last log, and all that began later, nobody wrote as a member.
        """
        since = max((one.began for one in stored if one.member), default=None)
        if self.until and newest and newest.member:
            since = self.until.moment
        if since is None:
            return []
        alone = [one.began for one in stored if not one.member and one.began > since]
        return self.logs.of_earlier_starts(min(alone, default=None))
