"""The types of resources by which the engine, its state and a preview name them, and those that hold data."""

from typing import Final

STACK: Final = "pulumi:pulumi:Stack"
PROVIDERS: Final = "pulumi:providers:"
"""How the type of each provider begins."""
EBS_VOLUME: Final = "aws:ebs/volume:Volume"
EBS_SNAPSHOT: Final = "aws:ebs/snapshot:Snapshot"
EBS_SNAPSHOT_COPY: Final = "aws:ebs/snapshotCopy:SnapshotCopy"
IAM_POLICY: Final = "aws:iam/policy:Policy"
IAM_ROLE_POLICY_ATTACHMENT: Final = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
EC2_TAG: Final = "aws:ec2/tag:Tag"
LIFECYCLE_POLICY: Final = "aws:dlm/lifecyclePolicy:LifecyclePolicy"
EFS_FILE_SYSTEM: Final = "aws:efs/fileSystem:FileSystem"
S3_BUCKET: Final = "aws:s3/bucket:Bucket"
NOMAD_JOB: Final = "nomad:index/job:Job"
NOMAD_CSI_VOLUME: Final = "nomad:index/csiVolume:CsiVolume"
NOMAD_CSI_REGISTRATION: Final = "nomad:index/csiVolumeRegistration:CsiVolumeRegistration"
REPLICATION_GROUP: Final = "nomad-csi:index:ReplicationGroup"
OWNERSHIP: Final = "nomad-csi:index:Ownership"
VOLUME_GUARD: Final = "nomad-csi:index:VolumeGuard"
VOLUME_GROWTH: Final = "nomad-csi:index:VolumeGrowth"
VOLUME_PROTECTION: Final = "nomad-csi:index:VolumeProtection"

VOLUMES: Final = {
    EBS_VOLUME: "an EBS volume and everything on it",
    EFS_FILE_SYSTEM: "an EFS file system and everything on it",
    NOMAD_CSI_VOLUME: "a volume that its driver made and deletes with it",
    "nomad:index/externalVolume:ExternalVolume": "a volume that its driver made and deletes with it",
    "nomad:index/dynamicHostVolume:DynamicHostVolume": "a folder on a client and everything in it",
}
"""Type of each resource that is storage, to what its deletion loses. A registration is none: the storage stays."""

DATA_HOLDERS: Final = {
    **VOLUMES,
    EBS_SNAPSHOT: "a snapshot, which may be the last copy",
    EBS_SNAPSHOT_COPY: "a snapshot, which may be the last copy",
    S3_BUCKET: "a bucket, which may hold the last copies",
    "aws:kms/key:Key": "a key, without which what it encrypted cannot be read",
    "nomad-csi:index:GeneratedSecret": "a generated password, which the data may be locked with",
}
"""The same of everything whose deletion or replacement loses data: storage, copies of it, and what opens it."""
