"""aws:iam/getRole: an IAM role that exists already."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.errors import aws_errors, error_code
from sandbox.standins.plugins.aws.functions.function import AwsFunction
from sandbox.standins.plugins.aws.iam_values import NOT_FOUND, document_text
from sandbox.standins.plugins.aws.tags import from_aws
from sandbox.standins.plugins.aws.times import rfc3339


class Role(AwsFunction):
    """Looked up by name."""

    token = "aws:iam/getRole:getRole"
    arguments = ("name",)
    required = ("name",)

    def run(self, ctx: Context, args: Props) -> Props:
        name = str(args["name"])
        iam = self.cloud.iam()
        with aws_errors(f"reading IAM Role ({name})"):
            try:
                role = iam.get_role(RoleName=name)["Role"]
            except ClientError as error:
                if error_code(error) in NOT_FOUND:
                    raise ProviderError(f"couldn't find resource: the account has no role '{name}'") from None
                raise
        rules = self.cloud.config.tag_rules
        return {
            "arn": role["Arn"],
            "assumeRolePolicy": document_text(role.get("AssumeRolePolicyDocument")),
            "createDate": rfc3339(role["CreateDate"]),
            "description": role.get("Description") or "",
            "id": role["RoleName"],
            "maxSessionDuration": role.get("MaxSessionDuration") or 0,
            "name": role["RoleName"],
            "path": role.get("Path") or "/",
            "permissionsBoundary": (role.get("PermissionsBoundary") or {}).get("PermissionsBoundaryArn", ""),
            "roleLastUseds": _last_used(role.get("RoleLastUsed")),
            "tags": rules.all_shown(from_aws(role.get("Tags"))),
            "uniqueId": role["RoleId"],
        }


def _last_used(used: Any) -> list[dict[str, str]]:
    if not used or not used.get("LastUsedDate"):
        return []
    return [{"lastUsedDate": rfc3339(used["LastUsedDate"]), "region": used.get("Region") or ""}]
