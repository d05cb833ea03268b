"""What a drill is asked to do, and what it works with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from nomad_stateful.databases.model import Database
from nomad_stateful.operate.errors import OperateError

Json = dict[str, Any]
LATEST = "latest"


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
    """Command of the consumer's own; "" checks the database."""
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
    kind: Database | None = None
    """The database that is started and checked; None for a check of the consumer's own."""

    @property
    def stack(self) -> str:
        """PROJECT/STACK."""
        return self.tag.removesuffix(f"/{self.volume}")
