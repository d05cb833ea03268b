"""Which operations on which resources lose data."""

from typing import Final

from nomad_stateful.resource_types import DATA_HOLDERS

HARMLESS: Final = frozenset({"same", "create", "update", "read", "refresh", "import"})
"""Operations of the engine after which the data is still there. Every other one, known or new, counts as a loss."""


def loses_data(operation: str, resource_type: str) -> bool:
    """Whether the operation deletes or replaces something that holds data."""
    return operation not in HARMLESS and resource_type in DATA_HOLDERS
