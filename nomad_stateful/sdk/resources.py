"""The provider's resources as classes; their properties are those of nomad_stateful/schema."""

from nomad_stateful.schema.jobs import (
    GeneratedSecretProperties,
    JobHealthProperties,
    OwnershipProperties,
    PluginHealthProperties,
    ReplicationGroupProperties,
)
from nomad_stateful.schema.volumes import (
    CsiVolumeGuardProperties,
    VolumeGrowthProperties,
    VolumeGuardProperties,
    VolumeProtectionProperties,
    VolumeReleaseProperties,
)
from nomad_stateful.sdk.base import NomadCsiResource


class PluginHealth(PluginHealthProperties, NomadCsiResource):
    """Exists once a CSI plugin is healthy: its controllers, and a node plugin in every zone that needs one.

    Waits at most `timeout_s` seconds, and again when `triggers` change.
    """


class JobHealth(JobHealthProperties, NomadCsiResource):
    """Exists once the newest version of a job runs and passes its checks.

    Waits at most `timeout_s` seconds until `allocations` of `group` are healthy, and again when `triggers` change. EBS
    volumes of the job that are attached where nothing claims or uses them are detached, where the account is known.
    """


class VolumeGuard(VolumeGuardProperties, NomadCsiResource):
    """Refuses at preview what would cost a volume its data; the volume depends on it and carries its id as a tag.

    Remembers its inputs; a later change of zone, encryption or key, or a smaller size, is refused.
    """


class CsiVolumeGuard(CsiVolumeGuardProperties, NomadCsiResource):
    """Refuses at preview what the contents of a CSI volume would not survive; the volume in Nomad depends on it.

    Remembers its inputs; later changes that a mount, or the driver, cannot follow are refused.
    """


class VolumeProtection(VolumeProtectionProperties, NomadCsiResource):
    """Has to be deleted before a volume can be, and takes the volume's final snapshot when it is.

    What uses the volume takes `volume_id` from here, so that it goes first, and its consumer `restart_id`.
    """


class VolumeGrowth(VolumeGrowthProperties, NomadCsiResource):
    """Grows a volume's file system after the volume, while it is mounted or by a restart of its consumer.

    Give `size_gib` from the volume itself, so that this comes after it, and `restart_id` to the consumer.
    """


class VolumeRelease(VolumeReleaseProperties, NomadCsiResource):
    """Stands between a volume's consumer and its registration; its deletion waits until the volume is released.

    On deletion it waits at most `timeout_s` seconds for Nomad, and with backend "ebs" for EC2 too; a job named by
    `consumer_job_id` that still runs is stopped first. When `triggers` change, it waits until Nomad attaches and
    detaches volumes: the consumer may change then. Make the consumer depend on this resource and this one on the
    registration (`registration_id`), so that a replacement takes them in that order.
    """


class GeneratedSecret(GeneratedSecretProperties, NomadCsiResource):
    """A random password of letters and digits, kept in the stack's encrypted state only.

    It is generated anew when `length` or `keepers` change.
    """


class ReplicationGroup(ReplicationGroupProperties, NomadCsiResource):
    """Says which member begins a database's replication group, and the group's id: `candidate`, unless it is decided.

    The decision is a variable of the job's namespace, written once. It goes with the resource.
    """


class Ownership(OwnershipProperties, NomadCsiResource):
    """The claim to a job's or a volume's id, which one stack alone can have; what it is a claim to depends on it.

    Fails where another stack has the claim, or something that `expects` does not name has the id.
    """
