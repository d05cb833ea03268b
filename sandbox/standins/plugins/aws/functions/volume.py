"""aws:ebs/getVolume: an EBS volume that exists already."""

from __future__ import annotations

from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.ec2_volume import volume_values
from sandbox.standins.plugins.aws.functions.function import AwsFunction
from sandbox.standins.plugins.aws.tags import from_aws


class Volume(AwsFunction):
    """Exactly one volume, found by filters."""

    token = "aws:ebs/getVolume:getVolume"
    arguments = ("filters",)

    def run(self, ctx: Context, args: Props) -> Props:
        region = self.cloud.config.region
        volume = self.the_one("Volumes", args)
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
