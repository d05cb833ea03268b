"""aws:ebs/getSnapshot: an EBS snapshot that exists already."""

from __future__ import annotations

from typing import Any

from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.ec2_values import filters_for, rfc3339
from sandbox.standins.plugins.aws.errors import aws_errors
from sandbox.standins.plugins.aws.functions.function import AwsFunction, the_one
from sandbox.standins.plugins.aws.snapshot import snapshot_values
from sandbox.standins.plugins.aws.tags import from_aws


class Snapshot(AwsFunction):
    """Exactly one snapshot, found by filters; of several only with mostRecent."""

    token = "aws:ebs/getSnapshot:getSnapshot"
    arguments = ("filters", "mostRecent", "owners", "region", "tags")

    def run(self, ctx: Context, args: Props) -> Props:
        region = self.region_of(args)
        filters: Any = filters_for(args.get("filters"))
        owners: Any = {"OwnerIds": list(args["owners"])} if args.get("owners") else {}
        with aws_errors("reading EBS Snapshots"):
            pages = self.cloud.ec2(region).get_paginator("describe_snapshots").paginate(Filters=filters, **owners)
            found = [one for page in pages for one in page["Snapshots"]]
        one = the_one(found, lambda snapshot: snapshot["StartTime"], most_recent=bool(args.get("mostRecent")))
        snapshot_id = str(one["SnapshotId"])
        return {
            **args,
            **snapshot_values(one),
            "arn": self.cloud.arn("ec2", region, "", f"snapshot/{snapshot_id}"),
            "region": region,
            "snapshotId": snapshot_id,
            "startTime": rfc3339(one["StartTime"]),
            "state": one["State"],
            "tags": self.cloud.config.tag_rules.all_shown(from_aws(one.get("Tags"))),
        }
