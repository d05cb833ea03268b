"""docs/config.md, generated from the settings; `make fix` writes it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from nomad_stateful.program.settings import MODEL, PROJECT, sections_of
from nomad_stateful.program.settings.types import Section

PAGE = Path(__file__).parents[3] / "docs" / "config.md"
INTRODUCTION = f"""# Configuration

Generated from `nomad_stateful/program/settings/`; change a description there, then run `make fix`.
Every key is read from the stack's file (`Pulumi.<stack>.yaml`) under `{PROJECT}:`. Unknown keys are refused.
What is accepted, Nomad, EC2 and IAM accept too: `tests/random_settings` draws settings at random and asks a real Nomad,
and AWS's documented limits. `make random-settings EXAMPLES=2000` draws that many, and others each time.
"""


class _Key(NamedTuple):
    """A setting, its default as shown, and those below it."""

    name: str
    default: str
    text: str
    below: "tuple[_Key, ...] | None" = None


def render() -> str:
    """Returns the whole page."""
    return "\n".join([INTRODUCTION, *_tables("", "Top level", _keys(MODEL), {})])


def _keys(model: type[Section]) -> tuple[_Key, ...]:
    return tuple(_key(field) for field in model.model_fields.values())


def _key(field: FieldInfo) -> _Key:
    sections = sections_of(field)
    many = "[]" if sections and str(field.annotation).startswith("list") else ""
    below = tuple(key for section in sections for key in _keys(section))
    return _Key(f"{field.alias}{many}", _default(field), field.description or "", below if sections else None)


def _tables(prefix: str, title: str, keys: tuple[_Key, ...], shown: dict[str, tuple[_Key, ...]]) -> Iterator[str]:
    """Yields a section and those below it; one that has the keys of an earlier section is told by that."""
    yield from (f"## {title}", "")
    like = next((name for name, earlier in shown.items() if _is_part(keys, earlier)), "")
    if like:
        yield from (*_like(prefix, keys, like, shown[like]), "")
        return
    shown[prefix.removesuffix(".")] = keys
    yield from ("| key | default | what it is |", "| --- | --- | --- |")
    for key in keys:
        path = f"{prefix}{key.name.removesuffix('[]')}"
        default = _link("below", f"{prefix}{key.name}") if key.below and key.default != "required" else key.default
        yield f"| `{path}` | {default} | {key.text} |"
    yield ""
    for key in keys:
        if key.below:
            yield from _tables(f"{prefix}{key.name}.", f"`{prefix}{key.name}`", key.below, shown)


def _is_part(keys: tuple[_Key, ...], earlier: tuple[_Key, ...]) -> bool:
    """Whether an earlier section has all these keys, in the same words; only the defaults may differ."""
    by_name = {key.name: key for key in earlier}
    return all(
        (other := by_name.get(key.name)) is not None
        and key.text == other.text
        and (key.below is None) == (other.below is None)
        and _is_part(key.below or (), other.below or ())
        for key in keys
    )


def _like(prefix: str, keys: tuple[_Key, ...], name: str, earlier: tuple[_Key, ...]) -> Iterator[str]:
    missing = [f"`{key.name}`" for key in earlier if key.name not in {key.name for key in keys}]
    without = f", but {' and '.join(missing)}" if missing else ""
    others = list(_other_defaults(prefix, keys, earlier))
    yield f"The keys of {_link(f'`{name}`', name)}{without}{', with other defaults:' if others else '.'}"
    if others:
        yield from ("", "| key | default |", "| --- | --- |", *others)


def _other_defaults(prefix: str, keys: tuple[_Key, ...], earlier: tuple[_Key, ...]) -> Iterator[str]:
    by_name = {key.name: key for key in earlier}
    for key in keys:
        other = by_name[key.name]
        if key.default != other.default:
            yield f"| `{prefix}{key.name}` | {key.default} |"
        yield from _other_defaults(f"{prefix}{key.name}.", key.below or (), other.below or ())


def _link(text: str, heading: str) -> str:
    """Returns a link to a section of the page, by the anchor that GitHub gives it."""
    return f"[{text}](#{re.sub(r'[^a-z0-9_-]', '', heading.lower())})"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value: Any = field.default
    if sections_of(field) or value is PydanticUndefined:
        return "below"
    if value is None or value in ("", [], {}):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`"
