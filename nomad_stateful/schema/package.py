"""The package's Pulumi schema, put together from the tables."""

from collections.abc import Iterable, Iterator
from typing import Any

from nomad_stateful.schema.config import CONFIG, ProviderProperties
from nomad_stateful.schema.fields import PACKAGE, AnyField, ObjectType, token
from nomad_stateful.schema.identity import identity
from nomad_stateful.schema.tables import FunctionTable, ResourceTable


def package_schema(
    version: str, resources: Iterable[ResourceTable], functions: Iterable[FunctionTable]
) -> dict[str, Any]:
    """Returns the schema of the package with these resources and functions, and the types they refer to."""
    functions = list(functions)
    types = {
        found.name: found
        for function in functions
        for found in _types([*function.inputs.values(), *function.outputs.values()])
    }
    config = {key: field.schema() for key, field in CONFIG.items()}
    return {
        "name": PACKAGE,
        "version": version,
        **identity(),
        "config": {"variables": config},
        "provider": {"description": ProviderProperties.table.description, "inputProperties": config},
        "types": {token(name): found.schema() for name, found in types.items()},
        "resources": {table.token: table.schema() for table in resources},
        "functions": {table.token: table.schema() for table in functions},
    }


def _types(fields: Iterable[AnyField]) -> Iterator[ObjectType]:
    """Yields the types that fields refer to, and those that these do."""
    for field in fields:
        if isinstance(field.items, ObjectType):
            yield field.items
            yield from _types(field.items.fields.values())
