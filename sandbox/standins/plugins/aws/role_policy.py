"""aws:iam/rolePolicy:RolePolicy: a policy written into a role."""
# ruff: noqa: A001 - the names and signatures are the plugin interface's

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import CheckFailure, InitFailed, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws import policy_json
from sandbox.standins.plugins.aws.errors import aws_errors, unless_gone
from sandbox.standins.plugins.aws.iam_listed import await_listed
from sandbox.standins.plugins.aws.iam_values import NOT_FOUND, document_text, name_rules
from sandbox.standins.plugins.aws.inputs import Field
from sandbox.standins.plugins.aws.resource import AwsResource, known

_MAX_NAME: Final = 128
_MAX_DOCUMENT: Final = 10240


class RolePolicyResource(AwsResource):
    """Put and replaced as a whole; its id is `<role>:<name>`."""

    token = "aws:iam/rolePolicy:RolePolicy"
    autonamed = True
    fields: ClassVar = {
        "name": Field("string", computed=True, replaces=True),
        "namePrefix": Field("string", computed=True, replaces=True, fixed=True),
        "policy": Field("policy", required=True),
        "role": Field("string", required=True, replaces=True),
    }

    def rules(self, inputs: Props) -> Iterator[CheckFailure]:
        yield from name_rules(inputs, _MAX_NAME)
        text = known(inputs, "policy")
        if text is not None:
            if reason := policy_json.problem(text):
                yield CheckFailure("", f'"policy" {reason}')
            elif len(text) > _MAX_DOCUMENT:
                yield CheckFailure("", f"policy: AWS takes at most {_MAX_DOCUMENT} characters")

    def same(self, name: str, old: Any, new: Any) -> bool:
        return policy_json.equivalent(old, new) if name == "policy" else super().same(name, old, new)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        role, name = inputs["role"], inputs["name"]
        id = f"{role}:{name}"
        self._put(role, name, inputs["policy"])
        try:
            return id, self._settled(ctx, id, inputs)
        except ProviderError as error:
            partial = self.plain(inputs) | {"id": id, "name": name}
            raise InitFailed(id, partial, [str(error)], inputs) from None

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        self._put(*_parts(id), inputs["policy"])
        return self._settled(ctx, id, inputs)

    def find(self, id: str, state: Props) -> Props | None:
        role, name = _parts(id)
        iam = self.cloud.iam()
        doing = f"reading IAM Role ({role}) Policy ({name})"
        answer = unless_gone(doing, lambda: iam.get_role_policy(RoleName=role, PolicyName=name), NOT_FOUND)
        if answer is None:
            return None
        actual = document_text(answer["PolicyDocument"])
        text = state.get("policy")
        shown = text if isinstance(text, str) and policy_json.equivalent(text, actual) else actual
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

    def _settled(self, ctx: Context, id: str, inputs: Props) -> Props:
        return await_listed(ctx, "Role Policy", id, lambda: self.find(id, inputs))


def _parts(id: str) -> tuple[str, str]:
    role, separator, name = id.partition(":")
    if not (role and separator and name):
        raise ProviderError(f"unexpected id '{id}' of an IAM role policy: it has the form <role>:<name>")
    return role, name
