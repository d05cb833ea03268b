"""aws:iam/rolePolicyAttachment:RolePolicyAttachment: a managed policy granted to a role."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from botocore.exceptions import ClientError

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import CheckFailure, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.errors import aws_errors, error_code, unless_gone
from sandbox.standins.plugins.aws.iam import NOT_FOUND, NOT_FOUND_TIMEOUT_S
from sandbox.standins.plugins.aws.inputs import Field
from sandbox.standins.plugins.aws.resource import AwsResource, known
from sandbox.standins.plugins.aws.waits import NotYet, Wait, wait_until

_BUSY: Final = "ConcurrentModification"


class RolePolicyAttachmentResource(AwsResource):
    """Its id is `<role>/<policy ARN>`; the role and the ARN are all there is to it."""

    token = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
    delete_first = True
    fields: ClassVar = {
        "policyArn": Field("string", required=True, replaces=True),
        "role": Field("string", required=True, replaces=True),
    }

    def rules(self, inputs: Props) -> Iterator[CheckFailure]:
        arn = known(inputs, "policyArn")
        if arn is not None and not arn.startswith("arn:"):
            yield CheckFailure("policyArn", f"({arn}) is an invalid ARN: an ARN starts with 'arn:'")
        if known(inputs, "role") == "":
            yield CheckFailure("role", "the role's name is empty")

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        role, arn = inputs["role"], inputs["policyArn"]
        iam = self.cloud.iam()

        def attach() -> None:
            try:
                iam.attach_role_policy(RoleName=role, PolicyArn=arn)
            except ClientError as error:
                if error_code(error).startswith(_BUSY):
                    raise NotYet(_BUSY) from None
                raise

        wait = Wait(f"role {role} to be free for a change", "IAM has finished other changes", NOT_FOUND_TIMEOUT_S)
        with aws_errors(f"attaching IAM Policy ({arn}) to IAM Role ({role})"):
            wait_until(ctx, wait, attach)
        return f"{role}/{arn}", self._outputs(role, arn)

    def find(self, id: str, state: Props) -> Props | None:
        role, arn = _parts(id, state)
        pages = self.cloud.iam().get_paginator("list_attached_role_policies").paginate(RoleName=role)
        attached = unless_gone(
            f"reading IAM Role ({role}) Policy Attachment ({arn})",
            lambda: any(policy["PolicyArn"] == arn for page in pages for policy in page["AttachedPolicies"]),
            NOT_FOUND,
        )
        return self._outputs(role, arn) | {"id": id} if attached else None

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        role, arn = _parts(id, state)
        iam = self.cloud.iam()
        doing = f"detaching IAM Policy ({arn}) from IAM Role ({role})"
        unless_gone(doing, lambda: iam.detach_role_policy(RoleName=role, PolicyArn=arn), NOT_FOUND)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        return self._outputs(inputs["role"], inputs["policyArn"])  # nothing of it can change in place

    @staticmethod
    def _outputs(role: str, arn: str) -> Props:
        return {"id": f"{role}/{arn}", "policyArn": arn, "role": role}


def _parts(id: str, state: Props) -> tuple[str, str]:
    """Returns role and policy ARN: of the state, as ids of older plugins hold no ARN, or of an id to import."""
    if state.get("role") and state.get("policyArn"):
        return state["role"], state["policyArn"]
    role, separator, arn = id.partition("/")
    if not (role and separator and arn.startswith("arn:")):
        raise ProviderError(f"unexpected id '{id}' of a role policy attachment: it has the form <role>/<policy ARN>")
    return role, arn
