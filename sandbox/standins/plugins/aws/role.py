"""aws:iam/role:Role: who may act, and for how long at a time."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws import policy_json
from sandbox.standins.plugins.aws.errors import aws_errors, unless_gone
from sandbox.standins.plugins.aws.iam import NOT_FOUND, IamDocument, document_text
from sandbox.standins.plugins.aws.inputs import Field
from sandbox.standins.plugins.aws.tags import from_aws, retag, to_aws
from sandbox.standins.plugins.aws.times import rfc3339

_SESSION_S: Final = 3600


class RoleResource(IamDocument):
    """Its policies are resources of their own; its id is its name."""

    token = "aws:iam/role:Role"
    kind, document, max_name, max_document = "Role", "assumeRolePolicy", 64, 8192
    tagged = True
    computed = frozenset({"arn", "createDate", "uniqueId"})
    fields: ClassVar = {
        "assumeRolePolicy": Field("policy", required=True),
        "description": Field("string"),
        "forceDetachPolicies": Field("boolean", default=False, fixed=True),
        "maxSessionDuration": Field("integer", default=3600, fixed=True),
        "name": Field("string", computed=True, replaces=True),
        "namePrefix": Field("string", computed=True, replaces=True, fixed=True),
        "path": Field("string", default="/", replaces=True),
        "permissionsBoundary": Field("string", fixed=True),
        "tags": Field("tags"),
    }

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        name = inputs["name"]
        wanted: dict[str, Any] = {
            "RoleName": name,
            "Path": inputs.get("path") or "/",
            "AssumeRolePolicyDocument": policy_json.normalise(inputs["assumeRolePolicy"]),
            "MaxSessionDuration": _SESSION_S,
            "Description": inputs.get("description"),
            "Tags": to_aws(inputs.get("tagsAll") or {}),
        }
        with aws_errors(f"creating IAM Role ({name})"):
            self.cloud.iam().create_role(**{key: value for key, value in wanted.items() if value})
        return self.made(ctx, name, inputs)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        iam, document = self.cloud.iam(), inputs["assumeRolePolicy"]
        with aws_errors(f"updating IAM Role ({id})"):
            if not self.same("assumeRolePolicy", state.get("assumeRolePolicy") or "", document):
                iam.update_assume_role_policy(RoleName=id, PolicyDocument=policy_json.normalise(document))
            iam.update_role(RoleName=id, Description=inputs.get("description") or "", MaxSessionDuration=_SESSION_S)
            if state.get("permissionsBoundary"):
                iam.delete_role_permissions_boundary(RoleName=id)
            retag(
                state,
                inputs,
                lambda tags: iam.tag_role(RoleName=id, Tags=to_aws(tags)),
                lambda keys: iam.untag_role(RoleName=id, TagKeys=keys),
            )
        return self.settled(ctx, id, inputs)

    def find(self, id: str, state: Props) -> Props | None:
        iam = self.cloud.iam()
        role: Any = unless_gone(f"reading IAM Role ({id})", lambda: iam.get_role(RoleName=id)["Role"], NOT_FOUND)
        if role is None:
            return None
        actual = policy_json.normalise(document_text(role.get("AssumeRolePolicyDocument")))
        return {
            **self.tag_outputs(from_aws(role.get("Tags")), state),
            "arn": role["Arn"],
            "assumeRolePolicy": policy_json.kept(state.get("assumeRolePolicy"), actual),
            "createDate": rfc3339(role["CreateDate"]),
            "description": role.get("Description") or "",
            "forceDetachPolicies": False,
            "id": id,
            "maxSessionDuration": role.get("MaxSessionDuration") or _SESSION_S,
            "name": role["RoleName"],
            "namePrefix": "",
            "path": role.get("Path") or "/",
            "permissionsBoundary": (role.get("PermissionsBoundary") or {}).get("PermissionsBoundaryArn", ""),
            "uniqueId": role["RoleId"],
        }

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        iam = self.cloud.iam()
        unless_gone(f"deleting IAM Role ({id})", lambda: iam.delete_role(RoleName=id), NOT_FOUND)
