"""aws:ebs/getVolume: an EBS volume that exists already."""

from __future__ import annotations

from typing import Any

from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.ec2_values import filters_for
from sandbox.standins.plugins.aws.ec2_volume import volume_values
from sandbox.standins.plugins.aws.errors import aws_errors
from sandbox.standins.plugins.aws.functions.function import AwsFunction, the_one
from sandbox.standins.plugins.aws.tags import from_aws


class Volume(AwsFunction):
    """Exactly one volume, found by filters; of several only with mostRecent."""

    token = "aws:ebs/getVolume:getVolume"
    arguments = ("filters", "mostRecent", "region", "tags")

    def run(self, ctx: Context, args: Props) -> Props:
        region = self.region_of(args)
        filters: Any = filters_for(args.get("filters"))
        with aws_errors("reading EBS Volume"):
            pages = self.cloud.ec2(region).get_paginator("describe_volumes").paginate(Filters=filters)
            found = [volume for page in pages for volume in page["Volumes"]]
        volume = the_one(found, lambda one: one["CreateTime"], most_recent=bool(args.get("mostRecent")))
        values = volume_values(volume)
        values["volumeType"] = values.pop("type")
        volume_id = str(volume["VolumeId"])
        return {
            **args,
            **values,
            "arn": self.cloud.arn("ec2", region, self.cloud.account_id(), f"volume/{volume_id}"),
            "id": volume_id,
            "region": region,
            "tags": self.cloud.config.tag_rules.all_shown(from_aws(volume.get("Tags"))),
            "volumeId": volume_id,
        }
