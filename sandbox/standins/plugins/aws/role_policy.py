"""aws:iam/rolePolicy:RolePolicy: a policy written into a role."""

from __future__ import annotations

from typing import ClassVar

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws import policy_json
from sandbox.standins.plugins.aws.errors import aws_errors, unless_gone
from sandbox.standins.plugins.aws.iam import NOT_FOUND, IamDocument, document_text
from sandbox.standins.plugins.aws.inputs import Field


class RolePolicyResource(IamDocument):
    """Put and replaced as a whole; its id is `<role>:<name>`."""

    token = "aws:iam/rolePolicy:RolePolicy"
    kind, max_name, max_document = "Role Policy", 128, 10240
    fields: ClassVar = {
        "name": Field("string", computed=True, replaces=True),
        "namePrefix": Field("string", computed=True, replaces=True, fixed=True),
        "policy": Field("policy", required=True),
        "role": Field("string", required=True, replaces=True),
    }

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        role, name = inputs["role"], inputs["name"]
        self._put(role, name, inputs["policy"])
        return self.made(ctx, f"{role}:{name}", inputs)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        self._put(*_parts(id), inputs["policy"])
        return self.settled(ctx, id, inputs)

    def find(self, id: str, state: Props) -> Props | None:
        role, name = _parts(id)
        iam = self.cloud.iam()
        doing = f"reading IAM Role ({role}) Policy ({name})"
        answer = unless_gone(doing, lambda: iam.get_role_policy(RoleName=role, PolicyName=name), NOT_FOUND)
        if answer is None:
            return None
        shown = policy_json.kept(state.get("policy"), document_text(answer["PolicyDocument"]))
        return {
            "id": id,
            "name": name,
            "namePrefix": "",
            "policy": policy_json.normalise_version_first(shown),
            "role": role,
        }

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        role, name = _parts(id)
        iam = self.cloud.iam()
        doing = f"deleting IAM Role ({role}) Policy ({name})"
        unless_gone(doing, lambda: iam.delete_role_policy(RoleName=role, PolicyName=name), NOT_FOUND)

    def _put(self, role: str, name: str, policy: str) -> None:
        document = policy_json.normalise_version_first(policy)
        with aws_errors(f"putting IAM Role ({role}) Policy ({name})"):
            self.cloud.iam().put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=document)


def _parts(id: str) -> tuple[str, str]:
    role, separator, name = id.partition(":")
    if not (role and separator and name):
        raise ProviderError(f"unexpected id '{id}' of an IAM role policy: it has the form <role>:<name>")
    return role, name
