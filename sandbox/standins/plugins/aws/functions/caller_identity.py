"""aws:index/getCallerIdentity: who the provider's credentials are."""

from __future__ import annotations

from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.functions.function import AwsFunction


class CallerIdentity(AwsFunction):
    """Asked of STS."""

    token = "aws:index/getCallerIdentity:getCallerIdentity"
    arguments = ()

    def run(self, ctx: Context, args: Props) -> Props:
        identity = self.cloud.identity()
        return {
            "accountId": identity["Account"],
            "arn": identity["Arn"],
            "id": identity["Account"],
            "userId": identity["UserId"],
        }
