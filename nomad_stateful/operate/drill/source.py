"""What a drill restores, and what its job needs for that besides the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.snapshots import Snapshot
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.operate.drill import dump, load, point, replay, snapshots
from nomad_stateful.operate.drill.model import Json, Options, Report, Scratch, Target


@dataclass(frozen=True)
class Source:
    """A snapshot, a point in time or a dump, as a drill restores it."""

    scratch: Scratch
    add: Callable[[Json], None]
    """Changes the drill's job so that its server has the source."""


@dataclass(frozen=True)
class Sources:
    """Where the stack's backups are."""

    known: Json
    """The stack's outputs."""
    nomad: NomadApi
    aws: AwsPlace
    target: Target

    def choose(self, options: Options, report: Report) -> Source | None:
        """Chooses one and notes it in the report; None where there is none.

        Raises OperateError where what was named is not there, ProviderError and botocore's errors of S3.
        """
        if options.dump:
            return self._dump(options, report)
        if options.to:
            return self._point_in_time(options, report)
        found = snapshots.named(self.aws, self.target, options) if options.snapshot else None
        report.backup = found = found or snapshots.newest(self.aws, self.target)
        return None if found is None else Source(_from(found), _as_it_is)

    def _dump(self, options: Options, report: Report) -> Source | None:
        restore = dump.restore_job(self.known, self.nomad, self.target)
        found = dump.choose(restore, self.aws, options, report)
        if found is None:
            return None
        return Source(dump.scratch(self.aws, self.target, found), partial(load.add, restore=restore, dump=found))

    def _point_in_time(self, options: Options, report: Report) -> Source | None:
        found = point.replay(self.known, self.aws, self.target, options, report)
        if found is None or not isinstance(report.backup, Snapshot):
            return None
        mysql = self.known["mysql"]
        live = self.nomad.get(job_path(str(mysql["job"])), namespace=str(mysql["namespace"]))
        return Source(_from(report.backup), partial(replay.add, live=live, replay=found))


def _from(snapshot: Snapshot) -> Scratch:
    return Scratch(snapshot.size_gib, snapshot.id)


def _as_it_is(_job: Json) -> None:
    """For a snapshot: all is on its volume."""
