"""Dot plots as SVG: every sample a dot, every median a bar."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH = 860
_LABELS = 190
_RIGHT = 160
_ROW = 30
_TITLE = 34
_AXIS = 30
_GAP = 16
_INK, _FAINT, _GRID = "#1f2328", "#59636e", "#d8dee4"
_COLOURS = {"floor": "#6e7781", "plain": "#bc4c00", "ours": "#0969da", "terraform": "#8250df", "engine": "#1a7f37"}
_OTHER = "#0969da"
_FONT = "font-family='-apple-system, Segoe UI, Helvetica, Arial, sans-serif'"


@dataclass(frozen=True)
class Row:
    """One line of a panel."""

    label: str
    values: Sequence[float]
    """Seconds."""
    median: float | None
    note: str = ""
    """Shown in the place of dots where there are none, or behind the median."""
    kind: str = ""
    """Chooses the colour: floor, plain, ours…"""


@dataclass(frozen=True)
class Panel:
    """Rows on one axis of seconds that starts at 0."""

    title: str
    rows: Sequence[Row]


def figure(panels: Sequence[Panel]) -> str:
    """The panels below each other, as one SVG document that needs nothing else."""
    heights = [_TITLE + _ROW * len(panel.rows) + _AXIS for panel in panels]
    height = sum(heights) + _GAP * (len(panels) + 1)
    size = f"width='{_WIDTH}' height='{height}'"
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' {size} viewBox='0 0 {_WIDTH} {height}' {_FONT} font-size='13'>",
        f"<rect width='{_WIDTH}' height='{height}' rx='6' fill='#ffffff'/>",
    ]
    top = _GAP
    for panel, tall in zip(panels, heights, strict=True):
        lines += _panel(panel, top)
        top += tall + _GAP
    return "\n".join([*lines, "</svg>", ""])


def nice_step(most: float, ticks: int = 6) -> float:
    """The distance of an axis's ticks: 1, 2 or 5 times a power of ten, at most `ticks` of them."""
    rough = most / ticks
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999999)


def spread(values: Sequence[float], apart: float) -> list[int]:
    """How many steps each value is moved off its line, so that those closer than `apart` do not hide each other."""
    placed: list[tuple[float, int]] = []
    for value in values:
        near = {lane for other, lane in placed if abs(other - value) < apart}
        lane = next(lane for lane in _lanes() if lane not in near)
        placed.append((value, lane))
    return [lane for _, lane in placed]


def _lanes() -> Iterator[int]:
    yield 0
    for distance in range(1, 1000):
        yield from (distance, -distance)


def _panel(panel: Panel, top: int) -> list[str]:
    known = [value for row in panel.rows for value in row.values]
    most = max(known, default=1.0) * 1.04 or 1.0
    step = nice_step(most)
    scale = (_WIDTH - _LABELS - _RIGHT) / most
    bottom = top + _TITLE + _ROW * len(panel.rows)
    lines = [
        f"<text x='{_GAP}' y='{top + 18}' fill='{_INK}' font-weight='600' font-size='14'>{escape(panel.title)}</text>"
    ]
    for number in range(int(most / step) + 1):
        x = _LABELS + number * step * scale
        at = f"x='{x:.1f}' y='{bottom + 17}'"
        tick = f"{number * step:g}{'' if number else ' s'}"
        lines += [
            f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{top + _TITLE - 4}' y2='{bottom}' stroke='{_GRID}'/>",
            f"<text {at} fill='{_FAINT}' font-size='11' text-anchor='middle'>{tick}</text>",
        ]
    for number, row in enumerate(panel.rows):
        lines += _row(row, top + _TITLE + _ROW * number + _ROW // 2, scale)
    return lines


def _row(row: Row, y: int, scale: float) -> list[str]:
    colour = _COLOURS.get(row.kind, _OTHER)
    lines = [f"<text x='{_LABELS - 12}' y='{y + 4}' fill='{_INK}' text-anchor='end'>{escape(row.label)}</text>"]
    end = float(_LABELS)
    for value, lane in zip(row.values, spread(row.values, 8 / scale), strict=True):
        x = _LABELS + value * scale
        end = max(end, x)
        lines.append(
            f"<circle cx='{x:.1f}' cy='{y + 4 * lane}' r='4' fill='{colour}' fill-opacity='0.45' stroke='{colour}'/>"
        )
    text = row.note
    if row.median is not None:
        x = _LABELS + row.median * scale
        lines.append(
            f"<rect x='{x - 1.5:.1f}' y='{y - 12}' width='3' height='24' rx='1.5' fill='{colour}'>"
            f"<title>median {row.median:.2f} s</title></rect>"
        )
        text = " ".join(filter(None, [_seconds(row.median), row.note]))
    if text:
        ink = colour if row.median is not None else "#cf222e"
        weight = " font-weight='600'" if row.median is not None else ""
        lines.append(f"<text x='{end + 12:.1f}' y='{y + 4}' fill='{ink}'{weight}>{escape(text)}</text>")
    return lines


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"
