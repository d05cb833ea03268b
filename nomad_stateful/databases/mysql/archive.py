"""Binary logs in S3: how they are named, what each says of itself, and until when they are all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from nomad_stateful.databases.mysql.binlog import Closing, Readable, contents
from nomad_stateful.databases.mysql.gtids import GtidError, GtidSet, GtidSetBuilder

FOLDER = "binlogs/"
"""Below the stack's prefix."""
UNTIL = "until"
"""The object that says until when the logs are all."""
NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""Up to when a log is whole that says nothing of it."""
SHOWN = "%Y-%m-%dT%H:%M:%SZ"
_NAMED = "%Y%m%dT%H%M%SZ"
# All of an object's metadata, names and values, has to fit into 2 KB.
_ROOM = 1800


# What clients can write there goes into scripts and messages: nothing but what a copier writes is a log.
_NAME = re.compile(r"(?P<began>[0-9]{8}T[0-9]{6}Z)-(?P<name>[A-Za-z0-9_-]+[.](?P<number>[0-9]{6,}))(-[0-9]+)?")


class LogName(NamedTuple):
    """A log's name in S3: after a restore of the volume another log has the server's name of it."""

    began: datetime
    name: str
    """The server's name of it, such as binlog.000042; of a group's member NAME-binlog.000042."""
    number: int

    @classmethod
    def parse(cls, text: str) -> LogName | None:
        """Returns what a name below FOLDER says; None where it is no log's."""
        found = _NAME.fullmatch(text)
        began = named_time(found["began"]) if found else None
        return cls(began, found["name"], int(found["number"])) if found and began else None

    @property
    def member(self) -> str:
        """The member of a group that wrote it; "" for a single server."""
        return self.name.rpartition(".")[0].rpartition("-")[0]


def log_name(began: datetime, name: str, member: str = "") -> str:
    """Returns a log's name in S3: two members may begin logs of one name in one second."""
    return "-".join(filter(None, (f"{began:{_NAMED}}", member, name)))


def named_time(text: str) -> datetime | None:
    """Returns the time (UTC) that begins a name in S3, 20260101T030000Z; None where it is none, as 20261399T…."""
    try:
        return datetime.strptime(text, _NAMED).replace(tzinfo=UTC)
    except ValueError:
        return None


@dataclass(frozen=True)
class Facts:
    """What a closed log says of itself."""

    before: GtidSet
    """All transactions of the logs before it."""
    own: GtidSet
    """Its transactions."""
    whole: datetime
    """Up to when it and those before it have everything that was committed."""
    opened_by_rotation: bool
    """Whether a running server went over to it from the log before it."""
    closed_by_rotation: bool
    """Whether its server closed it to begin another at once."""

    @property
    def ends(self) -> GtidSet:
        """All transactions up to its end."""
        return self.before | self.own

    def metadata(self) -> dict[str, str]:
        """Returns them as an object's metadata; nothing where the sets are too long: the log itself says them."""
        found = {
            "gtids-before": str(self.before),
            "gtids": str(self.own),
            "whole": self.whole.isoformat(),
            "rotations": f"{self.opened_by_rotation:d}{self.closed_by_rotation:d}",
        }
        return found if sum(len(name) + len(value) for name, value in found.items()) <= _ROOM else {}

    @classmethod
    def of_metadata(cls, found: Mapping[str, str]) -> Facts | None:
        """Returns what an object's metadata says of a log; None where it does not, as of an earlier release's."""
        try:
            opened, closed = (word == "1" for word in found["rotations"])
            whole = datetime.fromisoformat(found["whole"]).astimezone(UTC)
            return cls(GtidSet.parse(found["gtids-before"]), GtidSet.parse(found["gtids"]), whole, opened, closed)
        except (KeyError, ValueError):
            return None


def facts(name: str, log: Readable, unlogged: GtidSet | None = None) -> Facts:
    """Reads a log to its end. Raises BinlogError.

    Of a group's member `unlogged` is what it had before all of its logs. It may be behind: when it began a log, and
    closed it, says nothing of what others had committed.
    """
    opening, parts = contents(name, log)
    of_member, before = unlogged is not None, opening.before | (unlogged or GtidSet())
    own, whole, rotated = GtidSetBuilder(), NEVER if of_member else opening.began, False
    for part in parts:
        if isinstance(part, Closing):
            rotated = part.rotated
        else:
            own.extend([part.gtid])
        if not (of_member and isinstance(part, Closing)):
            whole = max(whole, part.at)
    return Facts(before, own.build(), whole, opening.rotated, rotated)


class UntilError(ValueError):
    """No copier wrote that object; the text says how it begins."""


@dataclass(frozen=True)
class Until:
    """Until when every transaction of a server is in S3, as its copier says."""

    moment: datetime
    server: str = ""
    """UUID of the server."""
    writer: str = ""
    """The allocation that says it."""
    newest: str = ""
    """Key of the newest log that it is true of; "" where an earlier release said it."""
    gtids: GtidSet | None = None
    """All transactions of the server's logs up to then; None where an earlier release said it."""

    def text(self) -> str:
        """Returns it as it is in S3."""
        return (
            f"{self.moment:{SHOWN}}\nserver {self.server}\nwriter {self.writer}\nnewest {self.newest}\n"
            f"gtids {self.gtids or ''}\n"
        )

    @classmethod
    def parse(cls, text: str) -> Until:
        """Reads it. Raises UntilError."""
        moment, *lines = text.splitlines() or [""]
        said = dict(line.partition(" ")[::2] for line in lines)
        try:
            at = datetime.strptime(moment.strip(), SHOWN).replace(tzinfo=UTC)
            gtids = GtidSet.parse(said["gtids"]) if "gtids" in said else None
        except (GtidError, ValueError):
            raise UntilError(f"begins with {text[:40]!r}") from None
        return cls(at, said.get("server", ""), said.get("writer", ""), said.get("newest", ""), gtids)
