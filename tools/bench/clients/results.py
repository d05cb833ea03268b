"""What was measured of one thing that was done to a client or driver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.bench import rows

FILE = "clients.csv"


@dataclass(frozen=True)
class Measured:
    """One thing, done under the writer."""

    what: str
    took_s: float
    """Until it was over, and the stack in order."""
    pause_s: float
    """The longest time without an acknowledged row."""
    acknowledged: int
    lost: int
    detached_while_mounted: int
    second_writers: int
    released_s: float = -1.0
    """From a notice until the instance had no volume any more; -1 where there was none."""


def write(folder: Path, measured: Iterable[Measured]) -> None:
    """As CSV, a line for each."""
    rows.write(folder / FILE, Measured, list(measured), digits=1)


def table(measured: Iterable[Measured]) -> str:
    """As a table of Markdown."""
    names = ("what", "took, s", "longest pause, s", "rows acknowledged", "rows lost", "detached while mounted")
    head = f"| {' | '.join((*names, 'second writers'))} |"
    lines = [head, "| --- " * 7 + "|"]
    for one in measured:
        cells = (one.what, f"{one.took_s:.0f}", f"{one.pause_s:.1f}", one.acknowledged, one.lost)
        lines.append(f"| {' | '.join(map(str, (*cells, one.detached_while_mounted, one.second_writers)))} |")
    return "\n".join(lines)
