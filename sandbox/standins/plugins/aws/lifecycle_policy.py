"""aws:dlm/lifecyclePolicy:LifecyclePolicy: when Data Lifecycle Manager takes snapshots, and what it keeps."""
# ruff: noqa: A001 - the names and signatures are the plugin interface's

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from botocore.exceptions import ClientError

from nomad_stateful.plugin_server.plugin import CheckFailure, Kind, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws import lifecycle_details
from sandbox.standins.plugins.aws.errors import aws_errors, error_code, unless_gone
from sandbox.standins.plugins.aws.inputs import Field
from sandbox.standins.plugins.aws.resource import AwsResource, known
from sandbox.standins.plugins.aws.tags import retag
from sandbox.standins.plugins.aws.waits import NotYet, Wait, wait_until

_NOT_FOUND: Final = ("ResourceNotFoundException",)
_RETRIED: Final = "InternalServerException"
_CREATE_TIMEOUT_S: Final = 120
_STATES: Final = ("DISABLED", "ENABLED")


class LifecyclePolicyResource(AwsResource):
    """Everything of it changes in place but its region; what it made stays when it is deleted."""

    token = "aws:dlm/lifecyclePolicy:LifecyclePolicy"
    regional = True
    tagged = True
    computed = frozenset({"arn"})
    fields: ClassVar = {
        "description": Field("string", required=True),
        "executionRoleArn": Field("string", required=True),
        "policyDetails": Field("object", required=True),
        "region": Field("string", computed=True, replaces=True),
        "state": Field("string", default="ENABLED"),
        "tags": Field("tags"),
    }

    def rules(self, inputs: Props) -> Iterator[CheckFailure]:
        description = known(inputs, "description")
        if description is not None and not re.fullmatch(r"[0-9A-Za-z _-]{1,500}", description):
            yield CheckFailure("description", "at most 500 letters, digits, spaces, underscores and hyphens")
        arn = known(inputs, "executionRoleArn")
        if arn is not None and not arn.startswith("arn:"):
            yield CheckFailure("executionRoleArn", f"({arn}) is an invalid ARN: an ARN starts with 'arn:'")
        if (state := known(inputs, "state")) and state not in _STATES:
            yield CheckFailure("state", f"expected one of {', '.join(_STATES)}")
        for path, reason in lifecycle_details.problems(known(inputs, "policyDetails")):
            yield CheckFailure(path, f"{path}: {reason}")

    def _field_diff(self, name: str, field: Field, state: Props, news: Props) -> dict[str, Kind]:
        if name == "policyDetails" and known(news, name) is not None:
            state = state | {name: lifecycle_details.without_chosen(state.get(name), news[name])}
        return super()._field_diff(name, field, state, news)

    def same(self, name: str, old: Any, new: Any) -> bool:
        if name == "policyDetails":
            return bool(lifecycle_details.without_chosen(old, new) == new)
        return super().same(name, old, new)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        request = self._request(inputs)
        if tags := inputs.get("tagsAll"):
            request["Tags"] = tags

        def probe() -> str:
            try:
                return str(self.cloud.dlm(self.region_of(inputs)).create_lifecycle_policy(**request)["PolicyId"])
            except ClientError as error:
                if error_code(error) == _RETRIED:
                    raise NotYet(_RETRIED) from None
                raise

        wait = Wait("a lifecycle policy to be created", "DLM takes the request", _CREATE_TIMEOUT_S)
        with aws_errors("creating DLM Lifecycle Policy"):
            id = wait_until(ctx, wait, probe, abandon=False)
        return id, self.outputs_of(id, inputs)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        dlm = self.cloud.dlm(self.region_of(inputs))
        with aws_errors(f"updating DLM Lifecycle Policy ({id})"):
            dlm.update_lifecycle_policy(PolicyId=id, **self._request(inputs))
            arn = state["arn"]
            retag(
                state,
                inputs,
                lambda tags: dlm.tag_resource(ResourceArn=arn, Tags=tags),
                lambda keys: dlm.untag_resource(ResourceArn=arn, TagKeys=keys),
            )
        return self.outputs_of(id, inputs)

    def find(self, id: str, state: Props) -> Props | None:
        region = self.region_of(state)
        dlm = self.cloud.dlm(region)
        found = unless_gone(
            f"reading DLM Lifecycle Policy ({id})", lambda: dlm.get_lifecycle_policy(PolicyId=id)["Policy"], _NOT_FOUND
        )
        if found is None:
            return None
        return {
            **self.tag_outputs(found.get("Tags") or {}, state),
            "arn": found["PolicyArn"],
            "description": found["Description"],
            "executionRoleArn": found["ExecutionRoleArn"],
            "id": id,
            "policyDetails": lifecycle_details.from_aws(found["PolicyDetails"]),
            "region": region,
            "state": found["State"],
        }

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        dlm = self.cloud.dlm(self.region_of(state))
        unless_gone(
            f"deleting DLM Lifecycle Policy ({id})", lambda: dlm.delete_lifecycle_policy(PolicyId=id), _NOT_FOUND
        )

    @staticmethod
    def _request(inputs: Props) -> dict[str, Any]:
        return {
            "Description": inputs["description"],
            "ExecutionRoleArn": inputs["executionRoleArn"],
            "PolicyDetails": lifecycle_details.to_aws(inputs["policyDetails"]),
            "State": inputs.get("state") or "ENABLED",
        }
