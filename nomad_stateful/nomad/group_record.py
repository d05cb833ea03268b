"""Which member begins a replication group, and the group's id: decided once, by a Nomad variable.

Two members that begin are two groups, which both acknowledge writes. The variable is written with check-and-set and
never again, so whoever decides gets the first decision. It is where the program may write anyway, and holds nothing
secret. A lost variable is not a lost group: the group's id lies on the members' volumes too.
https://developer.hashicorp.com/nomad/api-docs/variables/variables#create-variable
"""

from dataclasses import dataclass

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi, NomadApiError
from nomad_stateful.nomad.ownership import FOLDER, escaped


@dataclass(frozen=True)
class Decision:
    """Who begins which group."""

    first: str
    """The member's job."""
    group_id: str
    """A UUID; the group's transactions are numbered under it."""


@dataclass(frozen=True)
class GroupRecord:
    """The decision about the group of a database's job."""

    api: NomadApi
    namespace: str
    job: str

    @property
    def path(self) -> str:
        """The variable's path."""
        return f"{FOLDER}/groups/{escaped(self.job)}"

    def read(self) -> Decision | None:
        """Returns the decision; None where there is none. Raises NomadError, ProviderError."""
        found = self.api.find(f"var/{self.path}", namespace=self.namespace)
        if found is None:
            return None
        items = found.get("Items") or {}
        if not (items.get("first") and items.get("group")):
            raise ProviderError(
                f"The variable {self.path} (namespace {self.namespace}) does not say who begins the group of "
                f"{self.job}: it has to have the items first and group. Write it as it was: the group's id lies on the "
                "members' volumes"
            )
        return Decision(items["first"], items["group"])

    def decide(self, proposed: Decision) -> Decision:
        """Writes the decision unless there is one; returns the one that holds. Raises NomadError, ProviderError."""
        items = {"first": proposed.first, "group": proposed.group_id}
        body = {"Namespace": self.namespace, "Path": self.path, "Items": items}
        try:
            self.api.put(f"var/{self.path}", body, namespace=self.namespace, cas=0)
        except NomadApiError:
            # One that is there holds: somebody else's, or this one's, as the request is sent again after a lost answer.
            if (found := self.read()) is None:
                raise
            return found
        return proposed

    def forget(self, decided: Decision) -> None:
        """Removes that decision, where it is the one that holds. Raises NomadError, ProviderError."""
        if self.read() == decided:
            self.api.delete(f"var/{self.path}", namespace=self.namespace)
