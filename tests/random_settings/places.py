"""Every key of the settings in a configuration, found by walking the models."""

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic.fields import FieldInfo

from nomad_stateful.program.settings import MODEL
from nomad_stateful.program.settings.types import Section

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Place:
    """A key in a configuration; its value may be missing."""

    path: Path
    field: FieldInfo

    @property
    def key(self) -> str:
        """Its key in the documentation, without positions."""
        return ".".join(part for part in self.path if isinstance(part, str))


def places(config: dict[str, Any]) -> list[Place]:
    """The keys of every section that the configuration has."""
    return list(_of_section(MODEL, config, ()))


def all_keys() -> set[str]:
    """The keys that the settings have."""
    return set(_keys(MODEL, ""))


def alternatives(kind: Any) -> tuple[Any, ...]:
    """The kinds of value that an annotation allows, without their constraints."""
    if typing.get_origin(kind) is typing.Annotated:
        return alternatives(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return tuple(inner for one in typing.get_args(kind) for inner in alternatives(one))
    return (kind,)


def section_of(kind: Any) -> type[Section] | None:
    """The model that an annotation is, or is a list of."""
    for one in alternatives(kind):
        if isinstance(one, type) and issubclass(one, Section):
            return one
        if typing.get_origin(one) is list:
            return section_of(typing.get_args(one)[0])
    return None


def _of_section(model: type[Section], value: dict[str, Any], path: Path) -> Iterator[Place]:
    for field in model.model_fields.values():
        alias = str(field.alias)
        yield Place((*path, alias), field)
        inner, held = section_of(field.annotation), value.get(alias)
        if inner is not None and isinstance(held, dict):
            yield from _of_section(inner, held, (*path, alias))
        elif inner is not None and isinstance(held, list):
            for index, entry in enumerate(held):
                yield from _of_section(inner, entry, (*path, alias, index))


def _keys(model: type[Section], prefix: str) -> Iterator[str]:
    for field in model.model_fields.values():
        yield f"{prefix}{field.alias}"
        inner = section_of(field.annotation)
        if inner is not None:
            yield from _keys(inner, f"{prefix}{field.alias}.")
