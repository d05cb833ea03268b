"""Ownership of the id of a job or a volume: one stack at a time has it, by a Nomad variable.

Nomad replaces a job of the same id, and a registration of the same volume, whoever made it. A variable is written with
check-and-set, so of two stacks one gets the id. It is under `nomad/jobs/`, where the program may write anyway, and
holds nothing secret.
https://developer.hashicorp.com/nomad/api-docs/variables/variables#create-variable
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi, NomadApiError
from nomad_stateful.nomad.paths import job_path, volume_path

FOLDER = "nomad/jobs/nomad-stateful"
_CONFLICT = 409


@dataclass(frozen=True)
class Holder:
    """The stack that owns an id."""

    stack: str
    """organization/project/stack."""
    owner_id: str
    """Random, kept in that stack's state: stacks of one name may be in several backends."""
    index: int


@dataclass(frozen=True)
class Claim:
    """The right to a job's or a volume's id in a namespace."""

    api: NomadApi
    namespace: str
    kind: str
    id: str

    @property
    def path(self) -> str:
        """The variable's path."""
        return f"{FOLDER}/{self.kind}s/{escaped(self.id)}"

    @property
    def subject(self) -> str:
        """The job or volume, for messages."""
        return f"{self.kind} {self.id} (namespace {self.namespace})"

    def holder(self) -> Holder | None:
        """Returns the owner; None where there is none."""
        found = self.api.find(f"var/{self.path}", namespace=self.namespace)
        if found is None:
            return None
        items: Mapping[str, str] = found.get("Items") or {}
        return Holder(items.get("stack", ""), items.get("owner", ""), int(found.get("ModifyIndex") or 0))

    def found(self) -> Mapping[str, Any] | None:
        """Returns the job or volume as Nomad has it; None where there is none."""
        path = job_path(self.id) if self.kind == "job" else volume_path(self.id)
        return self.api.find(path, namespace=self.namespace)

    def take(self, stack: str, owner_id: str, before: Holder | None) -> None:
        """Writes the claim if it is unchanged since `before`. Raises ProviderError if another stack wrote it first."""
        body = {
            "Namespace": self.namespace,
            "Path": self.path,
            "Items": {"stack": stack, "owner": owner_id},
        }
        try:
            self.api.put(f"var/{self.path}", body, namespace=self.namespace, cas=before.index if before else 0)
        except NomadApiError as error:
            if error.status != _CONFLICT:
                raise
            found = self.holder()
            # This may be the second attempt of a request whose answer was lost.
            if found is None or found.owner_id != owner_id:
                raise ProviderError(self.refusal(found)) from None

    def release(self, owner_id: str) -> None:
        """Releases the claim, if it still is that owner's."""
        found = self.holder()
        if found is None or found.owner_id != owner_id:
            return
        try:
            self.api.delete(f"var/{self.path}", namespace=self.namespace, cas=found.index)
        except NomadApiError as error:
            if error.status != _CONFLICT:
                raise

    def refuse_another_owner(self, owner_id: str, urn: str) -> None:
        """Raises ProviderError if another stack owns it; without an owner id stacks are compared by name."""
        holder = self.holder()
        if holder is None or holder.owner_id == owner_id:
            return
        if not owner_id and (not urn or holder.stack.endswith(_stack_of(urn))):
            return
        raise ProviderError(
            f"{self.subject} belongs to the stack {holder.stack}, so this stack does not stop or purge it. Remove the "
            "job and what depends on it from this stack's state (`pulumi state delete`); if the claim is wrong, purge "
            f"it: `nomad var purge -namespace {self.namespace} {self.path}`"
        )

    def refusal(self, holder: Holder | None) -> str:
        """Returns why this stack may not have the id, and what to do."""
        if holder is None:
            return (
                f"{self.subject} is in Nomad already and not in this stack's state: it would be overwritten, and "
                f"purged by a destroy. Choose another id or placement.namespace, or list {self.id} in `adopt` if it is "
                "to become this stack's"
            )
        return (
            f"{self.subject} belongs to the stack {holder.stack}: it would be overwritten, and purged by a destroy. "
            f"Choose another id or placement.namespace. If that stack is gone: "
            f"`nomad var purge -namespace {self.namespace} {self.path}`, and list {self.id} in `adopt`"
        )


def escaped(name: str) -> str:
    """Returns a name as a part of a variable's path, in which Nomad allows few characters."""
    return re.sub(r"[^A-Za-z0-9_-]", lambda found: f"~{ord(found[0]):x}", name)


def _stack_of(urn: str) -> str:
    """Returns the end of a stack's full name, /project/stack, from urn:pulumi:STACK::PROJECT::TYPE::NAME."""
    stack, project = urn.removeprefix("urn:pulumi:").split("::")[:2]
    return f"/{project}/{stack}"
