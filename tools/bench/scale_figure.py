"""How commands grow with the number of volumes: a plot on two logarithmic axes, with a fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tools.bench import svg
from tools.bench.growth import COMMANDS, Measured, fit, of_command

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 860, 420, 70, 54, 50, 150
_COLOURS = dict(zip(COMMANDS, (svg.BLUE, svg.GREEN, svg.ORANGE), strict=True))

Place = Callable[[float, float], tuple[float, float]]


def draw(measured: Sequence[Measured]) -> str:
    """The picture as one SVG document: a dot for each command and size, the fit as a line."""
    most_volumes = max(one.volumes for one in measured)
    slowest, fastest = max(one.seconds for one in measured), min(one.seconds for one in measured)
    low, high = math.floor(math.log10(fastest)), math.floor(math.log10(slowest)) + 1

    def at(volumes: float, seconds: float) -> tuple[float, float]:
        across = math.log(volumes) / math.log(max(most_volumes, 2))
        up = (math.log10(seconds) - low) / (high - low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)

    lines = [svg.text(16, 26, "Seconds over the number of volumes (both axes logarithmic)", weight=600, size=15)]
    for decade in range(low, high + 1):
        _, y = at(1, 10.0**decade)
        lines.append(svg.line((LEFT, y), (WIDTH - RIGHT, y)))
        lines.append(svg.text(LEFT - 8, y + 4, f"{10.0**decade:g} s", fill=svg.FAINT, anchor="end"))
    for volumes in sorted({one.volumes for one in measured}):
        x, _ = at(volumes, 1)
        lines.append(svg.text(x, HEIGHT - BOTTOM + 20, f"{volumes}", fill=svg.FAINT, anchor="middle"))
    for number, command in enumerate(COMMANDS):
        found = of_command(measured, command)
        lines += _curve(number, command, found, at) if found else []
    return svg.document(WIDTH, HEIGHT, lines)


def _curve(number: int, command: str, found: Sequence[Measured], at: Place) -> list[str]:
    lines, colour = [], _COLOURS[command]
    for one in found:
        x, y = at(one.volumes, one.seconds)
        told = f"{command}: {one.volumes} volumes, {one.consumers} consumers: {one.seconds:.1f} s"
        lines.append(
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4' fill='{colour}' fill-opacity='0.5' stroke='{colour}'>"
            f"{svg.title(told)}</circle>"
        )
    exponent, factor = fit(found)
    told = command
    if not math.isnan(exponent):
        told = f"{command}, fit: n^{exponent:.2f}"
        ends = min(one.volumes for one in found), max(one.volumes for one in found)
        start, end = (at(volumes, factor * volumes**exponent) for volumes in ends)
        lines.append(svg.line(start, end, colour, "stroke-width='1.5'"))
    lines.append(svg.text(WIDTH - RIGHT + 16, TOP + 18 * number, told, fill=colour, weight=600))
    return lines
