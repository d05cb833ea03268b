"""docs/config.md, generated from the settings; `make fix` writes it."""

from pathlib import Path
from typing import Any

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


def render() -> str:
    """Returns the whole page."""
    return "\n".join([INTRODUCTION, *_tables("", "Top level", MODEL)])


def _tables(prefix: str, title: str, model: type[Section]) -> list[str]:
    lines = [f"## {title}", "", "| key | default | what it is |", "| --- | --- | --- |"]
    nested: list[str] = []
    for field in model.model_fields.values():
        key = f"{prefix}{field.alias}"
        sections = sections_of(field)
        lines.append(f"| `{key}` | {_default(field, bool(sections))} | {field.description} |")
        for section in sections:
            many = "[]" if str(field.annotation).startswith("list") else ""
            nested += _tables(f"{key}{many}.", f"`{key}`", section)
    return [*lines, "", *nested]


def _default(field: FieldInfo, is_section: bool) -> str:
    if field.is_required():
        return "required"
    value: Any = field.default
    if is_section or value is PydanticUndefined:
        return "see below"
    if value is None or value in ("", [], {}):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`"
