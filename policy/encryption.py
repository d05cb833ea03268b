"""Rules: data is encrypted at rest."""

from collections.abc import Iterable, Iterator

from nomad_stateful.resource_types import EBS_SNAPSHOT, EBS_SNAPSHOT_COPY, EBS_VOLUME, EFS_FILE_SYSTEM
from policy.resource import UNKNOWN, Resource, shown
from policy.rule import Config, ResourceRule, StackRule

ENCRYPTED_BY_INPUT = frozenset({EBS_VOLUME, EBS_SNAPSHOT_COPY, EFS_FILE_SYSTEM})


def check_encryption(resource: Resource, _config: Config) -> Iterable[str]:
    """Yields a resource that is not encrypted; without a value, AWS's default depends on the account."""
    encrypted = resource.props.get("encrypted")
    if resource.type in ENCRYPTED_BY_INPUT and encrypted not in (True, UNKNOWN):
        yield f"encrypted is {shown(encrypted)}"


def check_snapshot_encryption(resources: list[Resource], _config: Config) -> Iterator[tuple[Resource, str]]:
    """Yields snapshots that are not encrypted, by their volumes as long as the snapshots do not exist."""
    by_urn = {resource.urn: resource for resource in resources}
    for snapshot in resources:
        if snapshot.type != EBS_SNAPSHOT:
            continue
        if snapshot.props.get("encrypted") is False:
            yield snapshot, "encrypted is false"
            continue
        for urn in snapshot.sources.get("volumeId", ()):
            volume = by_urn.get(urn)
            if volume is not None and any(check_encryption(volume, {})):
                yield snapshot, f"volumeId is {volume.name}, which is not encrypted"


RULES = [
    ResourceRule(
        name="encryption-at-rest",
        sentence="EBS volumes, copies of snapshots and EFS file systems are encrypted.",
        remedy="set `encrypted: true`, the default of `volumes[].encrypted`. An existing EBS volume cannot be "
        "encrypted in place: restore an encrypted copy of its snapshot.",
        check=check_encryption,
    ),
    StackRule(
        name="snapshot-encryption",
        sentence="EBS snapshots are encrypted.",
        remedy="encrypt the volume; for an existing snapshot, make an encrypted copy and delete the original.",
        check=check_snapshot_encryption,
    ),
]
