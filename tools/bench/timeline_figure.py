"""A recorded timeline as a Gantt picture: a bar for each thing that took time, the critical path in red."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools.bench import svg

WIDTH, LABELS, RIGHT, ROW, TOP, GAP = 1060, 350, 70, 20, 46, 24
CRITICAL = svg.RED
_LANES = {"processes": ("Processes", svg.PURPLE), "engine": ("Resources", svg.BLUE), "nomad": ("Nomad", svg.GREEN)}
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
        svg.text(16, 26, "One `up`, from an empty stack to MySQL answering", weight=600, size=15),
        svg.text(WIDTH - 16, 26, "red: the critical path", fill=CRITICAL, anchor="end"),
        *svg.seconds_axis(recorded["ended_s"], lambda at: LABELS + at * scale, TOP, height - 36, ticks=10),
    ]
    y = TOP
    for lane, found in lanes.items():
        title, colour = _LANES[lane]
        lines.append(svg.text(16, y + 16, title, weight=600, fill=colour))
        y += GAP
        for span in found:
            lines += _bar(span, y, scale, CRITICAL if span in critical else colour)
            y += ROW
    if "MySQL" in recorded["moments"]:
        x = LABELS + answered * scale
        lines.append(svg.line((x, TOP), (x, height - 40), CRITICAL, "stroke-dasharray='4 3'"))
        lines.append(svg.text(x, TOP - 4, f"MySQL answers: {answered:.1f} s", fill=CRITICAL, anchor="middle", size=11))
    return svg.document(WIDTH, height, lines)


def _on_path(span: Span) -> bool:
    """Processes that live as long as the command say nothing about what is waited for."""
    return span["lane"] != "processes" or span["name"] in ("pip list", "nomad parses a job file")


def _bar(span: Span, y: int, scale: float, colour: str) -> list[str]:
    x, took = LABELS + span["start_s"] * scale, span["end_s"] - span["start_s"]
    wide = max(2.0, took * scale)
    told = f"{span['name']}: {span['start_s']:.2f} to {span['end_s']:.2f} s"
    return [
        svg.text(LABELS - 8, y + 13, span["name"][:54], anchor="end"),
        f"<rect x='{x:.1f}' y='{y + 3}' width='{wide:.1f}' height='{ROW - 7}' rx='2' fill='{colour}' opacity='0.75'>",
        f"{svg.title(told)}</rect>",
        svg.text(x + wide + 4, y + 13, f"{took:.1f}" if took >= 0.05 else "0", fill=svg.FAINT, size=10),
    ]
