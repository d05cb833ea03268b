"""The plan's parts: plain data, with a form in JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.settings.driver_policy import EbsPolicy, EfsPolicy

if TYPE_CHECKING:
    from nomad_stateful.components.container import ContainerArgs
    from nomad_stateful.components.csi_plugin import CsiPluginArgs
    from nomad_stateful.components.csi_volume_args import CsiVolumeArgs
    from nomad_stateful.components.database import DatabaseServerArgs
    from nomad_stateful.components.database_backup import DatabaseBackupArgs, DumpCopies
    from nomad_stateful.components.database_group import DatabaseGroupArgs
    from nomad_stateful.components.database_metrics import DatabaseMetricsArgs
    from nomad_stateful.components.dump_bucket import DumpBucketArgs
    from nomad_stateful.components.failover_watch import FailoverWatchArgs
    from nomad_stateful.components.placement import JobConstraint
    from nomad_stateful.components.snapshot_schedules import TaggedVolume, VolumeSnapshots
    from nomad_stateful.components.volume_metrics import VolumeMetricsArgs
    from nomad_stateful.components.zonal_volumes import ZonalVolume


@dataclass(frozen=True)
class Part:
    """Instances of a job that ask the same of a client beyond the job itself."""

    zones: list[str]
    count: int
    constraints: list[JobConstraint]

    @property
    def name(self) -> str:
        """Its name within the job."""
        return " and ".join(self.zones) or "any"

    @property
    def where(self) -> str:
        """Its zones, for a sentence."""
        return f" in {self.name}" if self.zones else ""


@dataclass(frozen=True)
class Job:
    """A job as its file will make it."""

    section: str
    """Path of its settings."""
    setting: str
    """The setting to name where it has no client."""
    value: str
    """What that is."""
    job_id: str
    namespace: str
    pool: str
    driver: str
    cpu_mhz: int
    memory_mib: int
    spec: str
    """Name of its job file."""
    variables: dict[str, Any]
    """Of its job file."""
    parts: list[Part]
    constraints: list[JobConstraint]
    """What the node plugins of its volumes ask of a client."""
    on_every_client: bool

    @property
    def key(self) -> str:
        """Path of the setting."""
        return f"{self.section}.{self.setting}"


DUMPS, LOGS = "dumps", "binlogs"
"""Roles of buckets."""


@dataclass(frozen=True)
class Bucket:
    """Where dumps or binary logs are copied to."""

    role: str
    """DUMPS or LOGS."""
    name: str
    """Of its component, and what the names of its resources begin with."""
    section: str
    """Path of its settings."""
    holds: str
    """Whose dumps or logs."""
    copies: DumpCopies
    """What the jobs that copy are told."""
    region: str | None
    """Its region; None for the stack's."""
    kms_key_arn: str | None
    replaced: str | None
    """The one object under the prefix that may be replaced."""
    inputs: DumpBucketArgs | None
    """Of the component that makes it; None of one that is given."""

    @property
    def given(self) -> str | None:
        """Its name where it is given."""
        return str(self.copies["bucket"]) if self.inputs is None else None


@dataclass(frozen=True)
class _Volume:
    name: str
    """In the settings, which is the set's for one of a set."""
    plugin: str
    """Id of the plugin that mounts it."""
    driver: str
    size_gib: int | None
    earlier_ids: list[str]
    """Ids in Nomad that it may have had."""
    renamed_from: str | None
    """The name that the settings say it had."""
    adopt: bool
    """Whether storage that has its name is adopted."""
    snapshot_id: str | None
    snapshot_stack: str | None
    """Whose the snapshot is, where it is another stack's."""
    registration: CsiVolumeArgs
    topology_keys: list[str]
    """Those of its driver: which one the nodes have is known later."""
    scheduled: bool
    """Whether snapshots are taken on schedule."""
    provision: ClassVar[str]
    """Who makes it, as the settings say it."""

    @property
    def id(self) -> str:
        """Its id in Nomad."""
        return self.registration["volume_id"]

    @property
    def zone(self) -> str:
        """Its zone; "" where it has none."""
        return self.registration["zone"]

    @property
    def key(self) -> str:
        """Path of its settings."""
        return f"volumes.{self.name}"

    @property
    def external_id(self) -> str | None:
        """Its id at the provider, where the settings give it."""
        return None


@dataclass(frozen=True)
class EbsVolume(_Volume):
    """An EBS volume that Pulumi makes."""

    provision = "pulumi"
    storage: ZonalVolume


@dataclass(frozen=True)
class DriverVolume(_Volume):
    """A volume that its driver makes, when Nomad asks for it."""

    provision = "plugin"
    by_stack: bool
    """Whether the stack runs the driver, and gives it its permissions."""


@dataclass(frozen=True)
class ExistingVolume(_Volume):
    """A volume that somebody else made."""

    provision = "existing"

    @property
    def external_id(self) -> str:
        """Its id at the provider."""
        return str(self.registration["external_id"])


Volume = EbsVolume | DriverVolume | ExistingVolume


@dataclass(frozen=True)
class Schedules:
    """By which AWS takes snapshots."""

    volumes: list[VolumeSnapshots]
    tagged: list[TaggedVolume]
    """Volumes that others make, which get the tag of their schedules once they are there."""
    copy_regions: list[str]
    kms_keys: list[str]


@dataclass(frozen=True)
class StackDatabase:
    """The stack's database."""

    name: str
    """In the catalogue."""
    server: DatabaseServerArgs
    """Of a group what is common to its members."""
    group: DatabaseGroupArgs | None
    """None of a single server."""
    backup: DatabaseBackupArgs | None
    metrics: DatabaseMetricsArgs | None


@dataclass(frozen=True)
class Plan:
    """Everything that the stack will be: each component's inputs, and the jobs that they come to."""

    client_role: str
    """Of the Nomad clients, which the policies are attached to."""
    plugins: dict[str, CsiPluginArgs]
    """By id."""
    drivers: dict[str, str]
    """Name of each plugin's driver, by the plugin's id."""
    policies: dict[str, EbsPolicy | EfsPolicy]
    """By driver."""
    volumes: list[Volume]
    schedules: Schedules | None
    database: StackDatabase | None
    volume_metrics: VolumeMetricsArgs | None
    consumers: dict[str, ContainerArgs]
    """By name."""
    earlier_consumers: dict[str, str]
    """The names that consumers had, by name."""
    failover: FailoverWatchArgs | None
    buckets: list[Bucket]
    jobs: list[Job]
    """Every job that Nomad has to place, in the order in which they are submitted."""
    namespace: str
    """Of the stack's jobs and volumes."""
    job_keys: dict[str, str]
    """Paths of the settings that give the ids of all jobs which the stack registers, by the id."""
    taken_over: list[str]
    """Ids of jobs and volumes that exist and become the stack's."""

    def to_json(self) -> str:
        """Returns it as a text; no secret is in it."""
        return json.dumps(_plain(self))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Returns the plan that a text was made of."""
        plan: Plan = _typed(json.loads(text))
        return plan

    def zone_of(self, volume_id: str) -> str:
        """Returns the zone of a volume."""
        return self.volume(volume_id).zone

    def volume(self, volume_id: str) -> Volume:
        """Returns a volume by its id in Nomad."""
        return next(volume for volume in self.volumes if volume.id == volume_id)


_KINDS = {
    kind.__name__: kind
    for kind in (
        *(Bucket, DriverVolume, EbsPolicy, EbsVolume, EfsPolicy, ExistingVolume),
        *(Job, Later, Part, Plan, Schedules, StackDatabase),
    )
}
_KIND = "$"
"""The key that names a value's kind; keys of the settings that begin with it are written with one more."""


def _plain(value: Any) -> Any:
    if isinstance(value, Later):
        return {_KIND: "Later", "source": value.source, "of": value.of, "text": str(value)}
    if is_dataclass(value):
        own = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {_KIND: type(value).__name__, **own}
    if isinstance(value, dict):
        return {f"{_KIND}{key}" if key.startswith(_KIND) else key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _typed(value: Any) -> Any:
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if not isinstance(value, dict):
        return value
    own = {key.removeprefix(_KIND): _typed(item) for key, item in value.items() if key != _KIND}
    return _KINDS[value[_KIND]](**own) if _KIND in value else own
