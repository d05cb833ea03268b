"""Resource types and functions whose properties are declared in a table (nomad_stateful/schema)."""

from collections.abc import Callable
from typing import ClassVar

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.plugin_server.plugin import Checked, CheckFailure, Function, Props, ReadResult, ResourceType
from nomad_stateful.schema.tables import FunctionTable, ResourceTable
from nomad_stateful.waiting import Context


class DeclaredResource(ResourceType):
    """Takes its token, its check and what replaces it from its table."""

    table: ClassVar[ResourceTable]
    why_no_import = "it is nothing outside the stack"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "table"):
            return
        cls.token = cls.table.token
        cls.computed = frozenset(cls.table.outputs)
        cls.replace_on = cls.table.replace_on
        cls.secret_outputs = cls.table.secrets

    def check(self, ctx: Context, olds: Props, news: Props) -> Checked:
        inputs, failures = self.checked(news)
        return Checked(inputs, failures or self.refusals(ctx, olds, inputs))

    def checked(self, news: Props) -> tuple[Props, list[CheckFailure]]:
        """Returns the inputs with defaults, and what is wrong with each by itself."""
        return self.table.checked(news)

    def refusals(self, ctx: Context, olds: Props, inputs: Props) -> list[CheckFailure]:
        """Returns what is wrong with inputs that are each right; values may be unknown."""
        return []

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        """Returns what the state has: most types are nothing that could be read. Raises ProviderError at an import."""
        if not state:
            name = f"{'an' if self.table.name[0] in 'AEIOU' else 'a'} {self.table.name}"
            raise ProviderError(f"{name} cannot be imported: {self.why_no_import}. Create a new one")
        return ReadResult(id, inputs, state)


class OnlyInState:
    """What there is nowhere but in the stack's state: a deletion has nothing to remove."""

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        """Removes nothing."""


class OnCluster:
    """What asks Nomad."""

    def __init__(self, api: Callable[[], NomadApi]) -> None:
        """`api` returns the cluster, and connects to it on first use."""
        self._api = api


class DeclaredFunction(Function):
    """Takes its token from its table."""

    table: ClassVar[FunctionTable]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.token = cls.table.token
