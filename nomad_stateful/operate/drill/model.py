"""What a drill is asked to do, what it works with, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from nomad_stateful.ebs.snapshots import Snapshot
from nomad_stateful.operate.errors import OperateError

Json = dict[str, Any]


class DrillError(OperateError):
    """A drill cannot be made, or it failed; the text is the whole message."""


@dataclass(frozen=True)
class Options:
    """The command line."""

    volume: str
    snapshot: str = ""
    """Id of the snapshot; "" is the newest."""
    snapshot_stack: str = ""
    """PROJECT/STACK that the snapshot is of; "" is the drill's own."""
    zone: str = ""
    """"" is the volume's own."""
    namespace: str = "drill"
    check: str = ""
    """Command of the consumer's own; "" checks MySQL."""
    newest: str = ""
    """SELECT of the newest row's time, in UTC."""
    max_age_s: float | None = None
    """How old the snapshot or dump may be."""
    max_lag_s: float | None = None
    """How much older than the snapshot or dump its newest row may be."""
    to: str = ""
    """Point in time, as 2026-11-22T10:15:00Z, or latest; "" is the snapshot's own."""
    dump: str = ""
    """Name of a dump in S3, or latest; "" restores a snapshot."""
    keep: bool = False
    """Whether a snapshot of what was restored is taken before it is removed."""
    timeout_s: float = 3600


@dataclass(frozen=True)
class Dump:
    """A dump in S3."""

    id: str
    """Name of its file."""
    taken: datetime
    """When it was begun: it has the rows of that moment."""
    size: int
    """In bytes, compressed."""
    stored: datetime
    """When it was uploaded, by S3's own clock."""


@dataclass(frozen=True)
class Scratch:
    """What the scratch volume is made of."""

    size_gib: int
    snapshot_id: str = ""
    """"" is an empty volume."""

    def __str__(self) -> str:
        return f"from {self.snapshot_id}" if self.snapshot_id else f"of {self.size_gib} GiB, empty"


@dataclass(frozen=True)
class Target:
    """The names and places of one drill: everything it makes has them."""

    volume: str
    """Name of the volume in the stack."""
    volume_id: str
    """Id of the live volume in EC2; it is read and never changed."""
    tag: str
    """PROJECT/STACK/VOLUME, by which the EBS volumes of this volume's drills are found."""
    id: str
    """Id of the scratch volume, and of the job, in Nomad."""
    namespace: str
    zone: str
    plugin: str
    topology_key: str
    mount_options: Mapping[str, Any] = field(default_factory=dict)
    access_mode: str = "single-node-writer"
    attachment_mode: str = "file-system"
    made_from: str = ""
    """Snapshot that the live volume was made from; "" if from none."""

    @property
    def stack(self) -> str:
        """PROJECT/STACK."""
        return self.tag.removesuffix(f"/{self.volume}")


@dataclass(frozen=True)
class Finding:
    """Something that makes a drill red."""

    what: str
    next: str
    """What to do about it."""


@dataclass(frozen=True)
class Table:
    """One table of the restored server."""

    name: str
    rows: int | None
    """None where they could not be counted."""
    status: str
    """OK, or what is wrong with it."""

    @property
    def ok(self) -> bool:
        return self.status == "OK" and self.rows is not None

    @property
    def is_servers(self) -> bool:
        """Whether it is one of the server's own."""
        return self.name.startswith("`mysql`.")


@dataclass
class Report:
    """What came of a drill; it is filled in as the drill goes on."""

    volume: str
    started: datetime
    backup: Snapshot | Dump | None = None
    """What is restored; None where there is none."""
    dumps: str = ""
    """Where the stack's dumps are, as s3://BUCKET/PREFIX; "" where a snapshot is restored."""
    to: datetime | None = None
    """The point in time that binary logs were applied up to; None where the snapshot is as it was."""
    logs: int = 0
    """How many logs were applied."""
    log_bytes: int = 0
    """Their size."""
    kept: str = ""
    """The snapshot of what was restored."""
    server: str = ""
    """Version of the server that ran on the scratch volume."""
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds by phase, in order."""
    rto_s: float | None = None
    """From the first request until the server answered (with the dump loaded), or the consumer's check had passed; None
    where it never did."""
    tables: list[Table] = field(default_factory=list)
    newest: datetime | None = None
    output: Sequence[str] = ()
    """The last lines of the consumer's check, or of a server that failed."""
    notes: list[str] = field(default_factory=list)
    """What is no fault of the snapshot, and has to be known by whoever goes on from it."""
    replayed: bool = False
    """Whether the server has every transaction up to the point in time."""
    unchecked: bool = False
    """Whether nothing is wrong with what was restored but that the checks took too long."""
    findings: list[Finding] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """What could not be removed."""

    @property
    def ok(self) -> bool:
        return not self.findings

    @property
    def rpo_s(self) -> float | None:
        """Age of what was restored: what would be lost if the volume were lost now."""
        if self.backup is None:
            return None
        return max(0.0, (self.started - (self.to or self.backup.taken)).total_seconds())

    @property
    def what(self) -> str:
        """What is restored, in a word."""
        return "dump" if self.dumps else "snapshot"

    @property
    def earlier(self) -> str:
        """How an earlier one is drilled."""
        if self.dumps:
            return f"drill earlier dumps (`aws s3 ls {self.dumps}`, then --dump NAME)"
        return "drill earlier snapshots (`nomad-stateful snapshots`, then --snapshot ID)"

    def wrong(self, what: str, then: str) -> None:
        """Adds a finding."""
        self.findings.append(Finding(what, then))
