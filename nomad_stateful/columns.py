"""Tables for people: columns as wide as their widest cell."""

from collections.abc import Sequence

from nomad_stateful.visible import visible


def columns(rows: Sequence[Sequence[str]], *, ruled: bool = False) -> str:
    """Rows of one length, a line each; `ruled` draws a line below the first."""
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    rule = [["-" * width for width in widths]] if ruled else []
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [*rows[:1], *rule, *rows[1:]]
    )
