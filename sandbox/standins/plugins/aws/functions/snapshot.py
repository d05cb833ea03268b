"""aws:ebs/getSnapshot: an EBS snapshot that exists already."""

from __future__ import annotations

from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.functions.function import AwsFunction
from sandbox.standins.plugins.aws.tags import from_aws
from sandbox.standins.plugins.aws.times import rfc3339


class Snapshot(AwsFunction):
    """Exactly one snapshot, found by filters."""

    token = "aws:ebs/getSnapshot:getSnapshot"
    arguments = ("filters",)

    def run(self, ctx: Context, args: Props) -> Props:
        region = self.cloud.config.region
        one = self.the_one("Snapshots", args)
        snapshot_id = str(one["SnapshotId"])
        return {
            **args,
            "arn": self.cloud.arn("ec2", region, "", f"snapshot/{snapshot_id}"),
            "dataEncryptionKeyId": one.get("DataEncryptionKeyId") or "",
            "description": one.get("Description") or "",
            "encrypted": bool(one.get("Encrypted")),
            "id": snapshot_id,
            "kmsKeyId": one.get("KmsKeyId") or "",
            "outpostArn": one.get("OutpostArn") or "",
            "ownerAlias": one.get("OwnerAlias") or "",
            "ownerId": one.get("OwnerId") or "",
            "region": region,
            "snapshotId": snapshot_id,
            "startTime": rfc3339(one["StartTime"]),
            "state": one["State"],
            "storageTier": one.get("StorageTier") or "standard",
            "tags": self.cloud.config.tag_rules.all_shown(from_aws(one.get("Tags"))),
            "volumeId": one.get("VolumeId") or "",
            "volumeSize": one.get("VolumeSize") or 0,
        }
