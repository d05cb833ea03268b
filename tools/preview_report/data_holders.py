"""Which resources hold data, so that deleting or replacing one loses it."""

from typing import Final

DATA_HOLDERS: Final = {
    "aws:ebs/volume:Volume": "an EBS volume and everything on it",
    "aws:ebs/snapshot:Snapshot": "a snapshot, which may be the last copy",
    "aws:ebs/snapshotCopy:SnapshotCopy": "a snapshot, which may be the last copy",
    "aws:efs/fileSystem:FileSystem": "an EFS file system and everything on it",
    "aws:kms/key:Key": "a key, without which what it encrypted cannot be read",
    "nomad:index/csiVolume:CsiVolume": "a volume that its driver made and deletes with it",
    "nomad:index/externalVolume:ExternalVolume": "a volume that its driver made and deletes with it",
    "nomad:index/dynamicHostVolume:DynamicHostVolume": "a folder on a client and everything in it",
    "nomad-csi:index:GeneratedSecret": "a generated password, which the data may be locked with",
}
"""Type to what is lost. A CsiVolumeRegistration is not here: deregistering leaves the storage as it is."""

HARMLESS: Final = frozenset({"same", "create", "update", "read", "refresh", "import"})
"""Operations of the engine after which the data is still there. Every other one, known or new, counts as a loss."""


def loses_data(operation: str, resource_type: str) -> bool:
    """Whether the operation deletes or replaces something that holds data."""
    return operation not in HARMLESS and resource_type in DATA_HOLDERS
