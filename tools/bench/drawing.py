"""Dot plots as SVG: every sample a dot, every median a bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.bench import svg

_WIDTH = 860
_LABELS = 190
_RIGHT = 160
_ROW = 30
_TITLE = 34
_AXIS = 30
_GAP = 16
_COLOURS = {
    "floor": svg.GREY,
    "plain": svg.ORANGE,
    "terraform": svg.PURPLE,
    "engine": svg.GREEN,
    "ours": svg.BLUE,
}


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
    lines: list[str] = []
    top = _GAP
    for panel, tall in zip(panels, heights, strict=True):
        lines += _panel(panel, top)
        top += tall + _GAP
    return svg.document(_WIDTH, height, lines, size=13)


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
    scale = (_WIDTH - _LABELS - _RIGHT) / most
    bottom = top + _TITLE + _ROW * len(panel.rows)
    lines = [
        svg.text(_GAP, top + 18, panel.title, weight=600, size=14),
        *svg.seconds_axis(most, lambda seconds: _LABELS + seconds * scale, top + _TITLE - 4, bottom),
    ]
    for number, row in enumerate(panel.rows):
        lines += _row(row, top + _TITLE + _ROW * number + _ROW // 2, scale)
    return lines


def _row(row: Row, y: int, scale: float) -> list[str]:
    colour = _COLOURS.get(row.kind, svg.BLUE)
    lines = [svg.text(_LABELS - 12, y + 4, row.label, anchor="end")]
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
            f"{svg.title(f'median {row.median:.2f} s')}</rect>"
        )
        text = " ".join(filter(None, [_seconds(row.median), row.note]))
    if text:
        known = row.median is not None
        lines.append(svg.text(end + 12, y + 4, text, fill=colour if known else svg.RED, weight=600 if known else 0))
    return lines


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"
