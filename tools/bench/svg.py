"""What all figures are drawn with: colours, text, an axis of seconds, and the document around them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from html import escape

INK, FAINT, GRID = "#1f2328", "#59636e", "#d8dee4"
BLUE, GREEN, ORANGE, PURPLE, GREY, RED = "#0969da", "#1a7f37", "#bc4c00", "#8250df", "#6e7781", "#cf222e"
_FONT = "font-family='-apple-system, Segoe UI, Helvetica, Arial, sans-serif'"


def document(width: int, height: int, lines: Iterable[str], size: int = 12) -> str:
    """An SVG document that needs nothing else, on white; `size` is that of the text."""
    box = f"width='{width}' height='{height}'"
    opening = f"<svg xmlns='http://www.w3.org/2000/svg' {box} viewBox='0 0 {width} {height}' role='img'"
    style = f"{_FONT} font-size='{size}'"
    return "\n".join([f"{opening} {style}>", f"<rect {box} rx='6' fill='#ffffff'/>", *lines, "</svg>", ""])


def text(x: float, y: float, told: str, *, fill: str = INK, anchor: str = "", weight: int = 0, size: int = 0) -> str:
    """A line of text; what is not given is the document's."""
    given = {"text-anchor": anchor, "font-weight": weight, "font-size": size}
    more = "".join(f" {name}='{value}'" for name, value in given.items() if value)
    return f"<text x='{x:.1f}' y='{y:.1f}' fill='{fill}'{more}>{escape(told)}</text>"


def title(told: str) -> str:
    """What a mark shows when it is pointed at; goes inside it."""
    return f"<title>{escape(told)}</title>"


def line(start: tuple[float, float], end: tuple[float, float], stroke: str = GRID, more: str = "") -> str:
    """A straight line; `more` are attributes."""
    (x1, y1), (x2, y2) = start, end
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{stroke}'{more and f' {more}'}/>"


def seconds_axis(end_s: float, at: Callable[[float], float], top: float, bottom: float, ticks: int = 6) -> list[str]:
    """From 0 to `end_s`: a grid line and a label below it for each round number."""
    lines, step = [], nice_step(end_s, ticks)
    for number in range(int(end_s / step) + 1):
        x = at(number * step)
        lines.append(line((x, top), (x, bottom)))
        told = f"{number * step:g}{'' if number else ' s'}"
        lines.append(text(x, bottom + 17, told, fill=FAINT, anchor="middle", size=11))
    return lines


def nice_step(most: float, ticks: int = 6) -> float:
    """The distance of an axis's ticks: 1, 2 or 5 times a power of ten, at most `ticks` of them."""
    rough = most / ticks
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999999)
