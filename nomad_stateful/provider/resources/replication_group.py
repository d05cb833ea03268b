"""ReplicationGroup: who begins a database's replication group, decided once."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.group_record import Decision, GroupRecord
from nomad_stateful.plugin_server.diffing import Kind
from nomad_stateful.plugin_server.plugin import Diff, Props, input_diff
from nomad_stateful.provider.declared import DeclaredResource
from nomad_stateful.schema.replication_group import REPLICATION_GROUP
from nomad_stateful.waiting import Context


class ReplicationGroup(DeclaredResource):
    """Decides in create; a decision whose variable is lost is written again as the state has it.

    Another candidate changes nothing: the group has begun, or may have.
    """

    table = REPLICATION_GROUP
    why_no_import = "it is nothing without its members"

    def __init__(self, api: Callable[[], NomadApi]) -> None:
        self._api = api

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        detailed = input_diff(old_inputs, news, self.replace_on)
        if not detailed and self._record(state).read() is None:
            detailed["candidate"] = Kind.UPDATE
        return Diff(detailed)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        decided = self._record(inputs).decide(Decision(inputs["candidate"], str(uuid.uuid4())))
        return f"{inputs['namespace']}/{inputs['jobId']}", inputs | _outputs(decided)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        own = Decision(state["first"], state["groupId"])
        found = self._record(inputs).decide(own)
        if found != own:
            raise ProviderError(
                f"The variable {self._record(inputs).path} says that {found.first} begins the group {found.group_id} "
                f"of {inputs['jobId']}, and this stack's state says {own.first} and {own.group_id}: one of them is of "
                "another group. The members' volumes have the id of theirs (table nomad_stateful.replication_group): "
                "write that one"
            )
        return inputs | _outputs(own)

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        self._record(state).forget(Decision(state["first"], state["groupId"]))

    def _record(self, props: Props) -> GroupRecord:
        return GroupRecord(self._api(), props["namespace"], props["jobId"])


def _outputs(decided: Decision) -> Props:
    return {"first": decided.first, "groupId": decided.group_id}
