"""The properties of a resource, each written once: for the provider a table, for programs the types of a class.

A type checker makes the constructor out of the annotated ones, as it does a dataclass's. An input without a default is
required there, so `required=True` and `default=` (None for no default) are written at the field.
https://typing.python.org/en/latest/spec/dataclasses.html#the-dataclass-transform-decorator
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, dataclass_transform

from nomad_stateful.schema.fields import Field, boolean, integer, text, wire_name
from nomad_stateful.schema.tables import ResourceTable

if TYPE_CHECKING:
    from pulumi import Input

Type = TypeVar("Type")
RequiredText: TypeAlias = "Field[str, str]"
RequiredInteger: TypeAlias = "Field[int, int]"
Text: TypeAlias = "Field[str | None, str]"
Integer: TypeAlias = "Field[int | None, int]"
Boolean: TypeAlias = "Field[bool | None, bool]"
Texts: TypeAlias = "Field[Sequence[Input[str]] | None, Sequence[str]]"
TextMap: TypeAlias = "Field[Mapping[str, Input[str]] | None, Mapping[str, str]]"


def computed(field: Field[Any, Type]) -> Field[None, Type]:
    """Returns an output that is no input; without an annotation, so that no type checker takes it for one."""
    return dataclasses.replace(field, computed=True)


def argument(*, kw_only: bool) -> Any:
    """Declares an argument of a class's constructor that is no property."""


@dataclass_transform(kw_only_default=True, field_specifiers=(text, integer, boolean, argument))
class Properties:
    """What a resource takes and gives: its table is made of its attributes, with the docstring as its description."""

    table: ClassVar[ResourceTable]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        fields = {wire_name(name): field for name, field in vars(cls).items() if isinstance(field, Field)}
        if fields:
            cls.table = ResourceTable(
                cls.__name__.removesuffix("Properties"),
                " ".join((inspect.getdoc(cls) or "").split()),
                inputs={key: field for key, field in fields.items() if not field.computed},
                outputs={key: field for key, field in fields.items() if field.computed},
            )
