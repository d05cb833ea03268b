"""The failover's timeline as a picture: for each loss a bar of its phases, one for each kind of settings."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tools.bench import svg
from tools.bench.failover.results import LOSSES, PHASES, SETTINGS, Failover, medians, of, title

WIDTH, LABELS, RIGHT, ROW, GAP, TOP = 1060, 290, 90, 24, 30, 84
_TOLD: dict[str, tuple[str, str]] = {
    "detection": (svg.GREY, "the client is silent until Nomad calls it down"),
    "wait": (svg.ORANGE, "Nomad waits before it places another allocation"),
    "claim": (svg.PURPLE, "the lost allocation's claim is released"),
    "detach": (svg.RED, "EC2 detaches"),
    "attach": (svg.BLUE, "claimed anew (with backoff) and attached"),
    "start": ("#0550ae", "mounted, task set up"),
    "recovery": (svg.GREEN, "MySQL recovers and acknowledges a row"),
}


def draw(measured: Sequence[Failover]) -> str:
    """The picture as one SVG document; medians of each phase."""
    shown = [(loss, [(name, of(measured, name, loss)) for name in SETTINGS]) for loss in LOSSES]
    groups = [(loss, [(name, found) for name, found in rows if found]) for loss, rows in shown]
    groups = [(loss, rows) for loss, rows in groups if rows]
    longest = max(sum(seconds for _, seconds in medians(found)) for _, rows in groups for _, found in rows)
    scale = (WIDTH - LABELS - RIGHT) / longest
    height = TOP + sum(GAP + ROW * len(rows) for _, rows in groups) + 44
    lines = [
        svg.text(16, 26, "From the loss of MySQL's instance to the first row elsewhere", weight=600, size=15),
        *_legend(),
        *svg.seconds_axis(longest, lambda at: LABELS + at * scale, TOP, height - 36, ticks=12),
    ]
    y = TOP
    for loss, rows in groups:
        lines.append(svg.text(16, y + 20, loss, weight=600))
        y += GAP
        for settings, found in rows:
            lines += _bar(title(settings, loss).replace("`", ""), found, y, scale)
            y += ROW
    return svg.document(WIDTH, height, lines)


def _legend() -> list[str]:
    lines: list[str] = []
    for number, (name, _) in enumerate(PHASES):
        colour, told = _TOLD[name]
        x, y = 16 + (number % 3) * 345, 42 + (number // 3) * 15
        lines.append(f"<rect x='{x}' y='{y - 9}' width='10' height='10' fill='{colour}'/>")
        lines.append(svg.text(x + 15, y, f"{name}: {told}", fill=svg.FAINT, size=11))
    return lines


def _bar(label: str, found: Sequence[Failover], y: float, scale: float) -> list[str]:
    lines, x = [svg.text(LABELS - 8, y + 15, label, anchor="end")], float(LABELS)
    for name, seconds in medians(found):
        colour, told = _TOLD[name]
        hint = svg.title(f"{name}: {seconds:.1f} s, {told}")
        wide = seconds * scale
        place = f"x='{x:.1f}' y='{y + 4}' width='{wide:.1f}' height='{ROW - 8}'"
        lines.append(f"<rect {place} fill='{colour}' opacity='0.8'>{hint}</rect>")
        x += wide
    first = statistics.median(one.acknowledged_s for one in found)
    return [*lines, svg.text(x + 5, y + 15, f"{first:.0f} s", fill=svg.INK, weight=600, size=11)]
