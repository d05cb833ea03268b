"""aws:iam/policy:Policy: a customer-managed policy and its versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final

from botocore.exceptions import ClientError

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import CheckFailure, InitFailed, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws import policy_json
from sandbox.standins.plugins.aws.errors import aws_errors, error_code, unless_gone
from sandbox.standins.plugins.aws.iam import NOT_FOUND, IamDocument, document_text
from sandbox.standins.plugins.aws.inputs import Field
from sandbox.standins.plugins.aws.resource import known
from sandbox.standins.plugins.aws.tags import from_aws, retag, to_aws

if TYPE_CHECKING:
    from mypy_boto3_iam import IAMClient

_MAX_VERSIONS: Final = 5  # AWS's own limit


class PolicyResource(IamDocument):
    """Changing the document makes a new default version; everything else but tags makes a new policy."""

    token = "aws:iam/policy:Policy"
    kind, max_name, max_document, counts_space = "Policy", 128, 6144, False
    tagged = True
    computed = frozenset({"arn", "attachmentCount", "policyId"})
    fields: ClassVar = {
        "delayAfterPolicyCreationInMs": Field("integer", fixed=True),
        "description": Field("string", replaces=True),
        "name": Field("string", computed=True, replaces=True),
        "namePrefix": Field("string", computed=True, replaces=True, fixed=True),
        "path": Field("string", default="/", replaces=True),
        "policy": Field("policy", required=True),
        "tags": Field("tags"),
    }

    def rules(self, inputs: Props) -> Iterator[CheckFailure]:
        yield from super().rules(inputs)
        path = known(inputs, "path")
        if path is not None and not (path.startswith("/") and path.endswith("/")):
            yield CheckFailure("path", "a path starts and ends with '/'")

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        name = inputs["name"]
        wanted: dict[str, Any] = {
            "PolicyName": name,
            "Path": inputs.get("path") or "/",
            "PolicyDocument": policy_json.normalise(inputs["policy"]),
        }
        if inputs.get("description"):
            wanted["Description"] = inputs["description"]
        if inputs.get("tagsAll"):
            wanted["Tags"] = to_aws(inputs["tagsAll"])
        with aws_errors(f"creating IAM Policy ({name})"):
            arn = self._made(wanted)
        return self.made(ctx, arn, inputs, arn=arn)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        iam = self.cloud.iam()
        if not self.same("policy", state.get("policy") or "", inputs["policy"]):
            with aws_errors(f"updating IAM Policy ({id})"):
                _add_version(iam, id, policy_json.normalise(inputs["policy"]))
        try:
            with aws_errors(f"updating tags of IAM Policy ({id})"):
                retag(
                    state,
                    inputs,
                    lambda tags: iam.tag_policy(PolicyArn=id, Tags=to_aws(tags)),
                    lambda keys: iam.untag_policy(PolicyArn=id, TagKeys=keys),
                )
            return self.settled(ctx, id, inputs)
        except ProviderError as error:
            partial = state | {"policy": policy_json.normalise(inputs["policy"])}
            raise InitFailed(id, partial, [str(error)], inputs) from None

    def find(self, id: str, state: Props) -> Props | None:
        iam = self.cloud.iam()

        def read() -> tuple[Any, Any]:
            policy = iam.get_policy(PolicyArn=id)["Policy"]
            return policy, iam.get_policy_version(PolicyArn=id, VersionId=policy["DefaultVersionId"])["PolicyVersion"]

        answer = unless_gone(f"reading IAM Policy ({id})", read, NOT_FOUND)
        if answer is None:
            return None
        found, version = answer
        return {
            **self.tag_outputs(from_aws(found.get("Tags")), state),
            "arn": found["Arn"],
            "attachmentCount": found.get("AttachmentCount") or 0,
            "description": found.get("Description") or "",
            "id": found["Arn"],
            "name": found["PolicyName"],
            "namePrefix": "",
            "path": found.get("Path") or "/",
            "policy": policy_json.normalise(
                policy_json.kept(state.get("policy"), document_text(version.get("Document")))
            ),
            "policyId": found["PolicyId"],
        }

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        iam = self.cloud.iam()

        def delete() -> None:
            for version in _versions(iam, id):
                if not version["IsDefaultVersion"]:
                    iam.delete_policy_version(PolicyArn=id, VersionId=version["VersionId"])
            iam.delete_policy(PolicyArn=id)

        unless_gone(f"deleting IAM Policy ({id})", delete, NOT_FOUND)

    def _made(self, wanted: dict[str, Any]) -> str:
        """Creates a policy; its ARN. One that an unanswered attempt of this very request made is the one asked for."""
        try:
            return self.cloud.iam().create_policy(**wanted)["Policy"]["Arn"]
        except ClientError as error:
            retried = error.response.get("ResponseMetadata", {}).get("RetryAttempts", 0) > 0
            if error_code(error) != "EntityAlreadyExists" or not retried:
                raise
        return self.cloud.arn("iam", "", self.cloud.account_id(), f"policy{wanted['Path']}{wanted['PolicyName']}")


def _add_version(iam: IAMClient, arn: str, document: str) -> None:
    """Makes a document the default version, dropping the oldest version where AWS's limit would be passed."""
    versions = _versions(iam, arn)
    if len(versions) >= _MAX_VERSIONS:
        old = [version for version in versions if not version["IsDefaultVersion"]]
        oldest = min(old, key=lambda version: version["CreateDate"])
        iam.delete_policy_version(PolicyArn=arn, VersionId=oldest["VersionId"])
    iam.create_policy_version(PolicyArn=arn, PolicyDocument=document, SetAsDefault=True)


def _versions(iam: IAMClient, arn: str) -> list[Any]:
    pages = iam.get_paginator("list_policy_versions").paginate(PolicyArn=arn)
    return [version for page in pages for version in page["Versions"]]
