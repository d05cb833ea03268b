"""Settings of a volume."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from nomad_stateful.drivers.ebs import MANAGED_TAG
from nomad_stateful.ebs.tags import GUARD_TAG, SNAPSHOTS_TAG, STACK_TAG
from nomad_stateful.program.settings import snapshots, volume_rules
from nomad_stateful.program.settings import tags as ec2_tags
from nomad_stateful.program.settings.snapshots import MOST_SCHEDULES, SnapshotSchedule
from nomad_stateful.program.settings.types import Identifier, PlainText, Section, Zone
from nomad_stateful.program.settings.volume_rules import LARGEST_GIB

AccessMode = Literal[
    "single-node-writer",
    "single-node-reader-only",
    "multi-node-reader-only",
    "multi-node-single-writer",
    "multi-node-multi-writer",
]

LARGEST_SET = 100


@dataclass(frozen=True)
class Member:
    """One volume of what a setting describes: the volume itself, or one of a set."""

    volume_id: str
    zone: str
    external_id: str


_KMS_KEY = r"mrk-[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
KMS_ARN = (
    r"^arn:aws(-cn|-us-gov|-eusc|-iso[a-z-]{0,3})?:kms:[a-z]{2,4}(-[a-z]+)+-[0-9]+:[0-9]{12}:"
    rf"(key/({_KMS_KEY})|alias/[A-Za-z0-9/_-]{{1,250}})$"
)
OWN_TAGS = frozenset({"Name", MANAGED_TAG, GUARD_TAG, STACK_TAG, SNAPSHOTS_TAG})
"""Tags that the program gives volumes."""


class Registered(Section):
    """What a volume is registered with already, where the program would register it otherwise."""

    name: PlainText | None = Field(None, description="Name of the registration, where it is not the volume's id.")
    topology_key: PlainText | None = Field(
        None,
        description="Topology key that its zone is registered under; empty for a registration without topology. Left "
        "out, it is the one that the node plugins report.",
    )


class Volume(Section):
    """A volume, or a set of equal ones, and how Nomad may mount it."""

    secret_fields = frozenset({"secrets"})

    name: Identifier = Field(
        description="Name of the volume; also its id in Nomad. The volumes of a set are `name[0]`, `name[1]`, ..."
    )
    renamed_from: Identifier | None = Field(
        None,
        description="The name it had before, for the `up` that renames it: the same storage is registered under "
        "the new id once its consumers have released it. Leave it out afterwards.",
    )
    plugin: Identifier | None = Field(None, description="Id of the plugin that mounts it; the first one if left out.")
    provision: Literal["pulumi", "plugin", "existing"] = Field(
        "pulumi",
        description="Who creates it: `pulumi` (EBS), `plugin` (the driver, through Nomad), or nobody (`existing`).",
    )
    external_id: PlainText | None = Field(None, description="Storage provider's id of an existing volume.")
    zone: Zone | None = Field(
        None,
        description="Availability zone the volume lives in (zonal drivers). It moves by `nomad-stateful move`.",
    )
    move_to: Zone | None = Field(
        None,
        description="Zone of its next move (`nomad-stateful move` sets it). With it, `up` only unprotects the volume "
        "and marks it retain-on-delete; `zone` may then become this one, with `snapshotId` of the volume's snapshot. "
        "A new EBS volume is created, and the old one stays in AWS. Leave it out afterwards.",
    )
    zones: list[Zone] = Field(
        default=[],
        description="Zones over which the volumes of a set are spread, in turn. "
        "A volume that exists keeps its zone: only new ones go to a zone that is added.",
    )
    count: int | None = Field(
        None, ge=1, le=LARGEST_SET, description="Makes a set of that many volumes, for a `perAlloc` consumer."
    )
    size_gib: int | None = Field(
        None,
        ge=1,
        le=LARGEST_GIB,
        description="Size in GiB, of a volume that is made. It can grow, never shrink.",
        json_schema_extra={"rule": "must be a whole number of GiB, at least 1"},
    )
    capacity: str | None = Field(
        None,
        pattern=r"^[1-9]\d*(MiB|GiB|TiB)$",
        description="Size of a volume that the driver makes, where whole GiB are too coarse, such as 100MiB.",
        json_schema_extra={"rule": "must be a number with its unit, such as 100MiB or 2GiB"},
    )
    type: Literal["gp3", "gp2", "io1", "io2", "st1", "sc1", "standard"] = Field(
        "gp3", description="EBS volume type; changed in place."
    )
    iops: int | None = Field(None, description="Provisioned IOPS (gp3, io1, io2).")
    throughput_mibps: int | None = Field(None, description="Provisioned throughput in MiB/s (gp3).")
    encrypted: bool = Field(True, description="Encrypt the volume at rest.")
    kms_key_arn: str | None = Field(
        None,
        pattern=KMS_ARN,
        description="KMS key; without it the account's default EBS key is used.",
        json_schema_extra={"rule": "must be the ARN of a KMS key, arn:aws:kms:REGION:ACCOUNT:key/ID"},
    )
    snapshot_id: str | None = Field(
        None,
        pattern=r"^snap-([0-9a-f]{8}|[0-9a-f]{17})$",
        description="Snapshot to restore the volume from, when it is created.",
        json_schema_extra={"rule": "must be the id of an EBS snapshot, snap- and 17 digits of 0-9 and a-f"},
    )
    snapshot_stack: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$",
        description="With snapshotId: the other stack that took the snapshot. Without it another stack's snapshot is "
        "refused.",
        json_schema_extra={"rule": "must be PROJECT/STACK, as in the snapshot's tag nomad-stateful-stack"},
    )
    initialization_rate_mibps: int | None = Field(
        None,
        description="With snapshotId: MiB/s (100 to 300) at which AWS loads the blocks of the snapshot when the volume "
        "is created, for a fee; without it each is loaded when it is first read.",
    )
    protect: bool = Field(True, description="Refuse to delete or replace the volume until this is set to false.")
    adopt: bool = Field(
        False,
        description="Adopt the EBS volume with this name and the stack's tags (retained by the stack, or tagged by "
        "`nomad-stateful adopt --ebs`) instead of creating an empty one. It does nothing to a volume that the stack "
        "already has.",
    )
    retain: bool = Field(
        False,
        description="Keep the EBS volume (of volumes that Pulumi makes) or the registration (of existing ones) when "
        "the volume leaves the stack, by a removal or a destroy. It takes effect once an `up` has run with it.",
    )
    final_snapshot: bool | None = Field(
        None,
        description="Take a snapshot before the volume is deleted (EBS volumes that Pulumi or the driver makes). "
        "Left out, it is taken of a volume that is, or once was, protected.",
    )
    snapshots: list[SnapshotSchedule] = Field(
        default=[],
        max_length=MOST_SCHEDULES,
        description="Schedules by which AWS takes snapshots of the volume, 4 at most, whether or not Nomad runs (EBS "
        "volumes, whoever makes them). The snapshots stay when the volume or the stack goes.",
    )
    growth: Literal["online-or-restart", "online", "restart"] = Field(
        "online-or-restart",
        description="How a mounted file system follows a larger sizeGib: `online` restarts nothing, "
        "`online-or-restart` restarts what uses it where the driver cannot expand volumes, `restart` also where Nomad "
        "or the controller refuses.",
    )
    tags: dict[PlainText, PlainText] = Field(
        default={}, description="Further tags of the volume, 40 at most (volumes that Pulumi makes)."
    )
    access_mode: AccessMode = Field("single-node-writer", description="Access mode the volume is registered with.")
    attachment_mode: Literal["file-system", "block-device"] = Field(
        "file-system", description="Attachment mode it is registered with."
    )
    fs_type: Literal["ext4", "xfs", "ext3", "nfs", ""] = Field(
        "ext4", description="File system a blank volume is formatted with; empty leaves it to the driver."
    )
    mount_flags: list[PlainText] = Field(default=[], description="Mount flags, such as noatime.")
    context: dict[PlainText, PlainText] = Field(
        default={}, description="Volume context handed to the driver on each mount."
    )
    parameters: dict[PlainText, PlainText] = Field(default={}, description="Parameters handed to the driver.")

    secrets: dict[PlainText, str] = Field(
        default={}, description="Secrets handed to the driver. Set them with `pulumi config set --secret --path`."
    )
    registered: Registered = Field(
        default_factory=Registered,
        description="Registration of an adopted volume (an existing one, or one with `adopt`) as Nomad has it.",
    )

    @property
    def made_by_driver(self) -> str | None:
        """Size with its unit of a volume that the driver makes; None for others."""
        return (self.capacity or f"{self.size_gib}GiB") if self.provision == "plugin" else None

    @property
    def moves_to(self) -> str:
        """Zone that it may move to next; "" once it is there."""
        return self.move_to if self.move_to and self.move_to != self.zone else ""

    @property
    def members(self) -> list[Member]:
        """The volumes this describes, in order."""
        external_id = self.external_id or ""
        if self.count is None:
            return [Member(self.name, self.zone or "", external_id)]
        zones = self.zones or [self.zone or ""]
        return [Member(f"{self.name}[{i}]", zones[i % len(zones)], external_id) for i in range(self.count)]

    def earlier_ids(self, volume_id: str) -> list[str]:
        """Returns the ids that one of its volumes may have had: under the earlier name, alone or in a set."""
        index = volume_id.removeprefix(self.name)
        # A single volume and the first of a set take each other's place.
        suffixes = dict.fromkeys([index, "", "[0]"]) if index in ("", "[0]") else [index]
        names = [self.name] if self.renamed_from is None else [self.renamed_from, self.name]
        ids = [f"{name}{suffix}" for name in names for suffix in suffixes]
        return [one for one in ids if one != volume_id]

    @model_validator(mode="after")
    def _check(self) -> "Volume":
        volume_rules.check(self)
        ec2_tags.check("tags", self.tags, OWN_TAGS)
        volume_rules.check_ebs(self)
        snapshots.check(self.snapshots, [member.zone for member in self.members], self.tags)
        return self
