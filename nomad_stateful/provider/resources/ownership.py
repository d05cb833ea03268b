"""Ownership: the claim to a job's or a volume's id, which has to be had before anything is made under that id."""

import secrets
from typing import Any

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.ownership import Claim
from nomad_stateful.plugin_server.diffing import Kind
from nomad_stateful.plugin_server.plugin import Diff, Props, ReadResult, input_diff
from nomad_stateful.provider.declared import DeclaredResource, OnCluster
from nomad_stateful.schema.jobs import NOTHING, OwnershipProperties
from nomad_stateful.waiting import Context


class Ownership(OnCluster, DeclaredResource):
    """Takes the claim in create and gives it up in delete; what it is a claim to depends on it.

    `expects` is what a look before found under the id: NOTHING, something UNCLAIMED that may be taken, or the owner id
    of a claim that may be. Where it is otherwise by then, nothing is taken.
    """

    table = OwnershipProperties.table
    why_no_import = "it is nothing without the stack"

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        """Takes a claim that was lost meanwhile again; what was expected before it was taken is no matter."""
        detailed = input_diff(old_inputs, news, self.replace_on)
        detailed.pop("expects", None)
        if not detailed and self._is_lost(state, news["expects"]):
            detailed["expects"] = Kind.UPDATE
        return Diff(detailed)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        owner_id = secrets.token_hex(8)
        self._take(inputs, owner_id)
        return f"{inputs['namespace']}/{inputs['kind']}/{inputs['resourceId']}", inputs | {"ownerId": owner_id}

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        self._take(inputs, state["ownerId"])
        return inputs | {"ownerId": state["ownerId"]}

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        """Returns None for a claim that is gone, which is then taken anew; another stack's is told by its preview."""
        kept = super().read(ctx, id, inputs, state)
        return None if self._claim(state).holder() is None else kept

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        self._claim(state).release(state["ownerId"])

    def _is_lost(self, state: Props, expects: Any) -> bool:
        if not isinstance(expects, str) or expects in (NOTHING, state["ownerId"]):
            return False
        holder = self._claim(state).holder()
        return holder is None or holder.owner_id == expects

    def _claim(self, props: Props) -> Claim:
        return Claim(self._api(), props["namespace"], props["kind"], props["resourceId"])

    def _take(self, inputs: Props, owner_id: str) -> None:
        claim = self._claim(inputs)
        holder = claim.holder()
        if holder is not None and holder.owner_id not in (inputs["expects"], owner_id):
            raise ProviderError(claim.refusal(holder))
        if holder is None and inputs["expects"] == NOTHING and claim.found() is not None:
            raise ProviderError(claim.refusal(None))
        claim.take(inputs["stack"], owner_id, holder)
