"""A recorded timeline as a Gantt picture: a bar for each thing that took time, the critical path in red."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from bench.drawing import nice_step

WIDTH, LABELS, RIGHT, ROW, TOP, GAP = 1060, 350, 70, 20, 46, 24
_INK, _FAINT, _GRID, _CRITICAL = "#1f2328", "#59636e", "#d8dee4", "#cf222e"
_LANES = {"processes": ("Processes", "#8250df"), "engine": ("Resources", "#0969da"), "nomad": ("Nomad", "#1a7f37")}
_FONT = "font-family='-apple-system, Segoe UI, Helvetica, Arial, sans-serif'"
# Between two spans: what is seen by polling, and the scheduling of processes, makes edges as blurred as this.
SLACK_S = 0.15

Span = Mapping[str, Any]


def critical_path(spans: Sequence[Span], end_s: float) -> list[Span]:
    """From `end_s` back to the start: at each moment the span that ended last before it, the longest of equals."""
    path: list[Span] = []
    moment = end_s
    while True:
        before = [
            span
            for span in spans
            if span["end_s"] <= moment + SLACK_S and span["start_s"] < moment - SLACK_S / 10 and span not in path
        ]
        if not before:
            return path[::-1]
        latest = max(before, key=lambda span: (round(span["end_s"] / SLACK_S), span["end_s"] - span["start_s"]))
        path.append(latest)
        moment = latest["start_s"]


def draw(recorded: Mapping[str, Any]) -> str:
    """The picture as one SVG document."""
    spans = sorted(recorded["spans"], key=lambda span: (list(_LANES).index(span["lane"]), span["start_s"]))
    answered = recorded["moments"].get("MySQL", recorded["ended_s"])
    critical = critical_path([span for span in spans if _on_path(span)], answered)
    lanes = {lane: [span for span in spans if span["lane"] == lane] for lane in _LANES}
    height = TOP + sum(GAP + ROW * len(found) for found in lanes.values()) + 44
    scale = (WIDTH - LABELS - RIGHT) / max(recorded["ended_s"], answered)
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' role='img' {_FONT} font-size='12'>",
        f"<rect width='{WIDTH}' height='{height}' rx='6' fill='#ffffff'/>",
        _text(16, 26, "One `up`, from an empty stack to MySQL answering", weight=600, size=15),
        _text(WIDTH - 16, 26, "red: the critical path", fill=_CRITICAL, anchor="end"),
        *_axis(recorded["ended_s"], scale, height),
    ]
    y = TOP
    for lane, found in lanes.items():
        title, colour = _LANES[lane]
        lines.append(_text(16, y + 16, title, weight=600, fill=colour))
        y += GAP
        for span in found:
            lines += _bar(span, y, scale, _CRITICAL if span in critical else colour)
            y += ROW
    x = LABELS + answered * scale
    lines.append(
        f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{TOP}' y2='{height - 40}' stroke='{_CRITICAL}' stroke-dasharray='4 3'/>"
    )
    lines.append(_text(x, TOP - 4, f"MySQL answers: {answered:.1f} s", fill=_CRITICAL, anchor="middle", size=11))
    return "\n".join([*lines, "</svg>", ""])


def _on_path(span: Span) -> bool:
    """Processes that live as long as the command say nothing about what is waited for."""
    return span["lane"] != "processes" or span["name"] in ("pip list", "nomad parses a job file")


def _axis(end_s: float, scale: float, height: int) -> list[str]:
    lines, step = [], nice_step(end_s, 10)
    for number in range(int(end_s / step) + 1):
        x = LABELS + number * step * scale
        lines.append(f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{TOP}' y2='{height - 36}' stroke='{_GRID}'/>")
        lines.append(_text(x, height - 18, f"{number * step:g}{'' if number else ' s'}", fill=_FAINT, anchor="middle"))
    return lines


def _bar(span: Span, y: int, scale: float, colour: str) -> list[str]:
    x, took = LABELS + span["start_s"] * scale, span["end_s"] - span["start_s"]
    wide = max(2.0, took * scale)
    return [
        _text(LABELS - 8, y + 13, span["name"][:54], anchor="end"),
        f"<rect x='{x:.1f}' y='{y + 3}' width='{wide:.1f}' height='{ROW - 7}' rx='2' fill='{colour}' opacity='0.75'>",
        f"<title>{escape(span['name'])}: {span['start_s']:.2f} to {span['end_s']:.2f} s</title></rect>",
        _text(x + wide + 4, y + 13, f"{took:.1f}" if took >= 0.05 else "0", fill=_FAINT, size=10),
    ]


def _text(
    x: float, y: float, text: str, *, fill: str = _INK, anchor: str = "start", weight: int = 400, size: int = 12
) -> str:
    return (
        f"<text x='{x:.1f}' y='{y}' fill='{fill}' text-anchor='{anchor}' font-weight='{weight}' font-size='{size}'>"
        f"{escape(text)}</text>"
    )
