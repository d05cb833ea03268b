"""Dot plots as SVG: every sample a dot, every median a bar."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH = 860
_LABELS = 190
_RIGHT = 160
_ROW = 30
_TITLE = 34
_AXIS = 30
_GAP = 16
_INK, _FAINT, _GRID, _RED, _BLUE = "#1f2328", "#59636e", "#d8dee4", "#cf222e", "#0969da"
_COLOURS = {"floor": "#6e7781", "plain": "#bc4c00", "ours": _BLUE}
_FONT = "font-family='-apple-system, Segoe UI, Helvetica, Arial, sans-serif' font-size='13'"


@dataclass(frozen=True)
class Row:
    """One line of a panel."""

    label: str
    """Who: floor, plain or ours."""
    values: Sequence[float]
    """Seconds."""
    median: float | None
    note: str = ""
    """Shown in the place of dots where there are none, or behind the median."""


@dataclass(frozen=True)
class Panel:
    """Rows on one axis of seconds that starts at 0."""

    title: str
    rows: Sequence[Row]


def figure(panels: Sequence[Panel], labels: int = _LABELS) -> str:
    """The panels below each other, as one SVG document that needs nothing else; `labels` is how wide they are."""
    heights = [_TITLE + _ROW * len(panel.rows) + _AXIS for panel in panels]
    height = sum(heights) + _GAP * (len(panels) + 1)
    lines: list[str] = []
    top = _GAP
    for panel, tall in zip(panels, heights, strict=True):
        lines += _panel(panel, top, labels)
        top += tall + _GAP
    box = f"width='{_WIDTH}' height='{height}'"
    opening = f"<svg xmlns='http://www.w3.org/2000/svg' {box} viewBox='0 0 {_WIDTH} {height}' role='img' {_FONT}>"
    return "\n".join([opening, f"<rect {box} rx='6' fill='#ffffff'/>", *lines, "</svg>", ""])


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


def _panel(panel: Panel, top: int, labels: int) -> list[str]:
    known = [value for row in panel.rows for value in row.values]
    most = max(known, default=1.0) * 1.04 or 1.0
    scale = (_WIDTH - labels - _RIGHT) / most
    bottom = top + _TITLE + _ROW * len(panel.rows)
    lines = [
        _text(_GAP, top + 18, panel.title, weight=600, size=14),
        *_seconds_axis(most, lambda seconds: labels + seconds * scale, top + _TITLE - 4, bottom),
    ]
    for number, row in enumerate(panel.rows):
        lines += _row(row, top + _TITLE + _ROW * number + _ROW // 2, scale, labels)
    return lines


def _row(row: Row, y: int, scale: float, labels: int) -> list[str]:
    colour = _COLOURS.get(row.label, _BLUE)
    lines = [_text(labels - 12, y + 4, row.label, anchor="end")]
    end = float(labels)
    for value, lane in zip(row.values, spread(row.values, 8 / scale), strict=True):
        x = labels + value * scale
        end = max(end, x)
        lines.append(
            f"<circle cx='{x:.1f}' cy='{y + 4 * lane}' r='4' fill='{colour}' fill-opacity='0.45' stroke='{colour}'/>"
        )
    text = row.note
    if row.median is not None:
        x = labels + row.median * scale
        lines.append(
            f"<rect x='{x - 1.5:.1f}' y='{y - 12}' width='3' height='24' rx='1.5' fill='{colour}'>"
            f"<title>median {row.median:.2f} s</title></rect>"
        )
        text = " ".join(filter(None, [_seconds(row.median), row.note]))
    if text:
        known = row.median is not None
        lines.append(_text(end + 12, y + 4, text, fill=colour if known else _RED, weight=600 if known else 0))
    return lines


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"


def _text(x: float, y: float, told: str, *, fill: str = _INK, anchor: str = "", weight: int = 0, size: int = 0) -> str:
    """A line of text; what is not given is the document's."""
    given = {"text-anchor": anchor, "font-weight": weight, "font-size": size}
    more = "".join(f" {name}='{value}'" for name, value in given.items() if value)
    return f"<text x='{x:.1f}' y='{y:.1f}' fill='{fill}'{more}>{escape(told)}</text>"


def _seconds_axis(end_s: float, at: Callable[[float], float], top: float, bottom: float) -> list[str]:
    """From 0 to `end_s`: a grid line and a label below it for each round number."""
    lines, step = [], nice_step(end_s)
    for number in range(int(end_s / step) + 1):
        x = at(number * step)
        lines.append(f"<line x1='{x:.1f}' y1='{top:.1f}' x2='{x:.1f}' y2='{bottom:.1f}' stroke='{_GRID}'/>")
        told = f"{number * step:g}{'' if number else ' s'}"
        lines.append(_text(x, bottom + 17, told, fill=_FAINT, anchor="middle", size=11))
    return lines


def nice_step(most: float, ticks: int = 6) -> float:
    """The distance of an axis's ticks: 1, 2 or 5 times a power of ten, at most `ticks` of them."""
    rough = most / ticks
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999999)
