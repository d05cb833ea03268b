"""Titled tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from nomad_stateful.columns import columns


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A titled table as text; says "none" when there are no rows."""
    if not rows:
        return f"{title}: none"
    return "\n".join([title, *[f"  {line}" for line in columns([head, *rows]).split("\n")]])
