"""The field: one property, from which its check, its place in the schema and its name in Python follow.

https://www.pulumi.com/docs/iac/guides/building-extending/packages/schema/
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypedDict, TypeVar, Unpack, overload

from nomad_stateful.plugin_server.plugin import CheckFailure, Props
from nomad_stateful.plugin_server.values import Unknown
from nomad_stateful.schema.rules import Rule, of_type

if TYPE_CHECKING:
    from pulumi import Input, Output

Given_contra = TypeVar("Given_contra", contravariant=True)
Read_co = TypeVar("Read_co", covariant=True)
PACKAGE = "nomad-csi"
Kind = Literal["string", "integer", "boolean", "array", "object"]
_SCALARS = ("string", "integer", "boolean")


def token(name: str) -> str:
    """Returns a resource's, function's or type's name as the engine knows it."""
    return f"{PACKAGE}:index:{name}"


def python_name(key: str) -> str:
    """Returns a property's name in Python: kms_key_id for kmsKeyId."""
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", key)


def wire_name(name: str) -> str:
    """Returns a property's name for the engine: kmsKeyId for kms_key_id."""
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


class Traits(TypedDict, total=False):
    """What an input may have besides its type and its description."""

    default: Any
    """Filled in by check; the schema tells it where it is a string, a number or a boolean."""
    required: bool
    replaces: bool
    """Whether a change replaces the resource."""
    secret: bool
    rule: Rule | None
    """What a known value must be; by default, of its type."""


@dataclass(frozen=True)
class Field(Generic[Given_contra, Read_co]):
    """One property of a resource, a function or a type; what programs give for it, and what they read of it."""

    kind: Kind
    description: str
    items: str | ObjectType = ""
    """What a list or a map holds."""
    default: Any = None
    required: bool = False
    replaces: bool = False
    secret: bool = False
    rule: Rule | None = None
    computed: bool = False
    """Whether it is an output of a resource and no input."""

    if TYPE_CHECKING:  # as an attribute of a resource's class

        def __get__(self, resource: object, kind: type) -> Output[Read_co]: ...

        def __set__(self, resource: object, value: Input[Given_contra]) -> None: ...

    def failures(self, key: str, value: Any) -> list[CheckFailure]:
        """Returns what is wrong with a value; one that is not known yet, or need not be given, is right."""
        if isinstance(value, Unknown) or (value is None and not self.required):
            return []
        rule = self.rule or of_type(self.kind, self.items if isinstance(self.items, str) else "")
        return rule(key, value)

    def schema(self, *, with_default: bool = True) -> dict[str, Any]:
        """Returns the property in terms of Pulumi's schema."""
        told: dict[str, Any] = {"type": self.kind, "description": self.description}
        if self.kind == "array":
            told["items"] = self.items.reference if isinstance(self.items, ObjectType) else {"type": self.items}
        if self.kind == "object":
            told["additionalProperties"] = {"type": self.items}
        if with_default and self.default is not None and self.kind in _SCALARS:
            told["default"] = self.default
        if self.replaces:
            told["replaceOnChanges"] = True
        if self.secret:
            told["secret"] = True
        return told

    def read(self, value: Any) -> Any:
        """Returns a value of this type as the engine gave it to a program: its numbers are floats."""
        if self.kind == "integer":
            return int(value)
        return tuple(value) if self.kind == "array" else value


AnyField: TypeAlias = Field[Any, Any]


@dataclass(frozen=True)
class ObjectType:
    """A type of the schema that fields of other tables hold lists of."""

    name: str
    description: str
    fields: Mapping[str, AnyField]
    given: bool = False
    """Whether programs give it, then only its required fields are sure to be there; else all are."""

    @property
    def reference(self) -> dict[str, str]:
        return {"$ref": f"#/types/{token(self.name)}"}

    def schema(self) -> dict[str, Any]:
        """Returns the type in terms of Pulumi's schema."""
        required = [key for key, field in self.fields.items() if field.required or not self.given]
        return {"type": "object", "description": self.description} | properties(self.fields, required)

    def read(self, value: Mapping[str, Any]) -> Props:
        """Returns the arguments of a Python class for an object that the engine gave to a program."""
        return read(self.fields, value)


def text(description: str, **traits: Unpack[Traits]) -> Field[Any, str]:
    """Returns a string."""
    return Field("string", description, **traits)


def integer(description: str, **traits: Unpack[Traits]) -> Field[Any, int]:
    """Returns a whole number."""
    return Field("integer", description, **traits)


def boolean(description: str, **traits: Unpack[Traits]) -> Field[Any, bool]:
    """Returns true or false."""
    return Field("boolean", description, **traits)


def texts(description: str, **traits: Unpack[Traits]) -> Field[Any, Sequence[str]]:
    """Returns a list of strings, by default empty."""
    return Field("array", description, "string", **({"default": []} | traits))


@overload
def mapping(description: str, **traits: Unpack[Traits]) -> Field[Any, Mapping[str, str]]: ...


@overload
def mapping(description: str, items: Literal["integer"]) -> Field[Any, Mapping[str, int]]: ...


def mapping(
    description: str, items: Literal["string", "integer"] = "string", **traits: Unpack[Traits]
) -> Field[Any, Any]:
    """Returns a map of strings or integers, by default empty."""
    return Field("object", description, items, **({"default": {}} | traits))


def objects(of: ObjectType, description: str, **traits: Unpack[Traits]) -> AnyField:
    """Returns a list of objects."""
    return Field("array", description, of, **traits)


def properties(fields: Mapping[str, AnyField], required: list[str]) -> dict[str, Any]:
    """Returns fields, and which of them have to be there, in terms of Pulumi's schema."""
    return {"properties": {key: field.schema() for key, field in fields.items()}, "required": sorted(required)}


def read(fields: Mapping[str, AnyField], value: Mapping[str, Any]) -> Props:
    """Returns what the engine gave to a program, by the names and in the types of Python."""
    return {python_name(key): field.read(value[key]) for key, field in fields.items()}
