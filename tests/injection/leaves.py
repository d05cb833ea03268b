"""Every place of the configuration that takes a string, found by walking the models of the settings."""

import json
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nomad_stateful.program.settings import MODEL
from nomad_stateful.program.settings.types import Section

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Leaf:
    """A place for a string: a value, or the name of an entry of a map."""

    path: Path
    names_an_entry: bool = False
    of_a_map: bool = False

    def __str__(self) -> str:
        return ".".join(map(str, self.path)) + (".(name)" if self.names_an_entry else "")

    @property
    def key(self) -> str:
        """Its key in the documentation, without positions."""
        parts = [part for part in self.path if isinstance(part, str)]
        return ".".join(parts[: -1 if self.of_a_map else None]) + ("(name)" if self.names_an_entry else "")


def leaves(config: dict[str, Any]) -> list[Leaf]:
    """The places for strings of the settings, those of every section that the configuration has."""
    return list(_of_section(MODEL, config, ()))


def with_values(config: dict[str, Any], values: dict[Leaf, str]) -> dict[str, Any]:
    """The configuration with strings put into places."""
    changed: dict[str, Any] = json.loads(json.dumps(config))
    # An entry's value is put in place before the entry is renamed.
    for leaf in sorted(values, key=lambda one: one.names_an_entry):
        parent: Any = changed
        for part in leaf.path[:-1]:
            parent = _entry(parent, part)
        last = leaf.path[-1]
        if leaf.names_an_entry:
            parent[values[leaf]] = parent.pop(last)
        elif isinstance(last, int) and last == len(parent):
            parent.append(values[leaf])
        else:
            parent[last] = values[leaf]
    return changed


def sections(kind: Any = MODEL) -> set[type[Section]]:
    """Every model that is reached from the settings."""
    found = {kind} if isinstance(kind, type) and issubclass(kind, Section) else set()
    inner = [field.annotation for field in kind.model_fields.values()] if found else typing.get_args(kind)
    for one in inner:
        found |= sections(one)
    return found


def visited(config: dict[str, Any]) -> set[type[Section]]:
    """The models of which the configuration has at least one section."""
    return {MODEL} | {kind for kind, _, _ in _sections_in(MODEL, config, ())}


def string_keys(*, any_text: bool = False) -> set[str]:
    """The keys of every string in the models; with ``any_text`` those alone that take more than certain words."""
    return {key for kind, path in _models(MODEL, ()) for key in _keys(kind, path, any_text)}


def _models(kind: Any, path: tuple[str, ...]) -> Iterator[tuple[type[Section], tuple[str, ...]]]:
    if isinstance(kind, type) and issubclass(kind, Section):
        yield kind, path
        for field in kind.model_fields.values():
            yield from _models(field.annotation, (*path, str(field.alias)))
        return
    for one in typing.get_args(kind):
        yield from _models(one, path)


def _keys(model: type[Section], path: tuple[str, ...], any_text: bool) -> Iterator[str]:
    for field in model.model_fields.values():
        key = ".".join((*path, str(field.alias)))
        free = not _has_pattern(field.annotation) and not any(getattr(rule, "pattern", None) for rule in field.metadata)
        for one in _alternatives(field.annotation):
            origin, inner = typing.get_origin(one), typing.get_args(one)
            if one is str or (origin is list and str in _alternatives(inner[0])):
                if free or not any_text:
                    yield key
            elif origin is dict:
                yield f"{key}(name)"
                if str in _alternatives(inner[1]):
                    yield key


def _sections_in(model: type[Section], value: dict[str, Any], path: Path) -> Iterator[tuple[type[Section], Any, Path]]:
    for field in model.model_fields.values():
        alias = str(field.alias)
        for kind, inner, where in _held(field.annotation, value.get(alias), (*path, alias)):
            yield kind, inner, where
            yield from _sections_in(kind, inner, where)


def _of_section(model: type[Section], value: dict[str, Any], path: Path) -> Iterator[Leaf]:
    for field in model.model_fields.values():
        alias = str(field.alias)
        yield from _of_value(field.annotation, value.get(alias), (*path, alias))
    for kind, inner, where in _sections_in(model, value, path) if not path else []:
        yield from _of_section(kind, inner, where)


def _held(kind: Any, value: Any, path: Path) -> Iterator[tuple[type[Section], Any, Path]]:
    """The sections that a value holds itself."""
    for one in _alternatives(kind):
        if isinstance(one, type) and issubclass(one, Section) and isinstance(value, dict):
            yield one, value, path
        elif typing.get_origin(one) is list and isinstance(value, list):
            for index, item in enumerate(value):
                yield from _held(typing.get_args(one)[0], item, (*path, index))


def _of_value(kind: Any, value: Any, path: Path) -> Iterator[Leaf]:
    """The strings that a value is or holds, those of sections left out."""
    for one in _alternatives(kind):
        origin = typing.get_origin(one)
        if one is str:
            yield Leaf(path)
        elif origin is list and str in _alternatives(typing.get_args(one)[0]):
            # The first entry, or one that is added to an empty list.
            yield Leaf((*path, 0))
        elif origin is dict:
            for name in value or ():
                yield Leaf((*path, name), names_an_entry=True, of_a_map=True)
                if str in _alternatives(typing.get_args(one)[1]):
                    yield Leaf((*path, name), of_a_map=True)


def _alternatives(kind: Any) -> tuple[Any, ...]:
    """The kinds of value that an annotation allows, without their constraints."""
    if typing.get_origin(kind) is typing.Annotated:
        return _alternatives(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return tuple(inner for one in typing.get_args(kind) for inner in _alternatives(one))
    return (kind,)


def _has_pattern(kind: Any) -> bool:
    """Whether a rule on the text is a part of an annotation."""
    rules = kind.__metadata__ if typing.get_origin(kind) is typing.Annotated else ()
    constraints = [item for rule in rules for item in (rule, *getattr(rule, "metadata", ()))]
    return any(getattr(item, "pattern", None) for item in constraints) or any(map(_has_pattern, typing.get_args(kind)))


def _entry(parent: Any, part: str | int) -> Any:
    return parent.setdefault(part, []) if isinstance(parent, dict) else parent[part]
