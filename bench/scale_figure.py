"""How commands grow with the number of volumes: a plot on two logarithmic axes, and the exponent of a fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 860, 420, 70, 54, 50, 150
_COLOURS = {"up": "#0969da", "preview": "#1a7f37", "destroy": "#bc4c00"}
_INK, _FAINT, _GRID = "#1f2328", "#59636e", "#d8dee4"
_FONT = "font-family='-apple-system, Segoe UI, Helvetica, Arial, sans-serif'"

Row = Mapping[str, Any]


def exponent(rows: Sequence[Row]) -> float:
    """The slope of the least-squares line through log(seconds) over log(volumes); nan for a single size."""
    points = [(math.log(row["volumes"]), math.log(row["seconds"])) for row in rows]
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    across = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / across if across else math.nan


def draw(rows: Sequence[Row]) -> str:
    """The picture as one SVG document: a dot for each command and size, the fit as a line."""
    most_volumes = max(row["volumes"] for row in rows)
    slowest, fastest = max(row["seconds"] for row in rows), min(row["seconds"] for row in rows)
    low, high = 10 ** math.floor(math.log10(fastest)), 10 ** math.ceil(math.log10(slowest))

    def at(volumes: float, seconds: float) -> tuple[float, float]:
        across = math.log(volumes) / math.log(max(most_volumes, 2))
        up = math.log(seconds / low) / math.log(high / low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)

    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' role='img' {_FONT} font-size='12'>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' rx='6' fill='#ffffff'/>",
        _text(16, 26, "Seconds over the number of volumes (both axes logarithmic)", weight=600, size=15),
    ]
    for decade in range(round(math.log10(high / low)) + 1):
        value = low * 10**decade
        _, y = at(1, value)
        lines.append(f"<line x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{y:.1f}' y2='{y:.1f}' stroke='{_GRID}'/>")
        lines.append(_text(LEFT - 8, y + 4, f"{value:g} s", fill=_FAINT, anchor="end"))
    for volumes in sorted({row["volumes"] for row in rows}):
        x, _ = at(volumes, low)
        lines.append(_text(x, HEIGHT - BOTTOM + 20, f"{volumes}", fill=_FAINT, anchor="middle"))
    for number, (command, colour) in enumerate(_COLOURS.items()):
        found = [row for row in rows if row["command"] == command]
        lines += _curve(command, found, at, colour) if found else []
        lines += [_legend(number, command, exponent(found), colour)] if found else []
    return "\n".join([*lines, "</svg>", ""])


def _curve(command: str, rows: Sequence[Row], at: Any, colour: str) -> list[str]:
    lines = []
    for row in rows:
        x, y = at(row["volumes"], row["seconds"])
        told = f"{command}: {row['volumes']} volumes, {row['consumers']} consumers: {row['seconds']:.1f} s"
        lines.append(
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4' fill='{colour}' fill-opacity='0.5' stroke='{colour}'>"
            f"<title>{told}</title></circle>"
        )
    slope = exponent(rows)
    if math.isnan(slope):
        return lines
    middle = sum(math.log(row["seconds"]) - slope * math.log(row["volumes"]) for row in rows) / len(rows)
    ends = sorted({row["volumes"] for row in rows})
    (x1, y1), (x2, y2) = (at(volumes, math.exp(middle + slope * math.log(volumes))) for volumes in (ends[0], ends[-1]))
    lines.append(
        f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' stroke-width='1.5'/>"
    )
    return lines


def _legend(number: int, command: str, slope: float, colour: str) -> str:
    told = command if math.isnan(slope) else f"{command}, fit: n^{slope:.2f}"
    return _text(WIDTH - RIGHT + 16, TOP + 18 * number, told, fill=colour, weight=600)


def _text(
    x: float, y: float, text: str, *, fill: str = _INK, anchor: str = "start", weight: int = 400, size: int = 12
) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' fill='{fill}' text-anchor='{anchor}' font-weight='{weight}' "
        f"font-size='{size}'>{escape(text)}</text>"
    )
