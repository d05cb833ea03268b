"""What came of a soak: its verdicts, as a table, and its series, as curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from statistics import median
from typing import Final

from tools import markdown
from tools.soak.verdict import Bounds, Judged, Point, judged

_SLACK: Final = {"memory": 24.0, "files": 24.0, "threads": 24.0, "processes": 8.0, "count": 10.0, "MiB": 1.0}
"""By kind, memory in MiB; of a level a tenth too."""
_WIDER: Final = {
    # Entries stay until 8192 of them are made a snapshot of.
    "MiB/Nomad raft": 64.0,
    # Nomad keeps ten files of ten MiB of each task and stream.
    "MiB/logs of allocations": 16.0,
    # A process tree a container.
    "count/control groups": 60.0,
}
_DESIGN: Final = {
    "MiB/Pulumi history and backups": "Pulumi keeps the state of each update in a folder that is its backend",
    "MiB/logs of daemons": "the sandbox rotates no log: on a host journald does",
}
_COLUMNS, _WIDTH, _HEIGHT, _TITLE = 4, 236, 64, 30
_BUCKETS: Final = 60
_COLOURS: Final = {"level": "#0969da", "by design": "#6e7781", "few samples": "#6e7781"}
_RED: Final = "#cf222e"


def verdicts(series: Mapping[str, Sequence[Point]], length_s: float, keep: Mapping[str, float]) -> list[Judged]:
    """Of every series, by name; with the retention of those that have one."""
    return [
        judged(name, series.get(name, ()), length_s, Bounds(_slack(name), keep.get(name), _DESIGN.get(name, "")))
        for name in sorted(series.keys() | keep.keys())
    ]


def _slack(name: str) -> float:
    return _WIDER.get(name, _SLACK[name.partition("/")[0]])


def table(found: Sequence[Judged]) -> str:
    """A line for each series, what is wrong first."""
    head = ["series", "second quarter", "last quarter", "growth", "slack", "verdict"]
    rows = [
        [one.name, *(f"{value:.4g}" for value in (one.early, one.late, one.growth, one.slack)), _told(one)]
        for one in sorted(found, key=lambda one: (not one.wrong, one.name))
    ]
    return markdown.table(head, rows)


def _told(one: Judged) -> str:
    return f"{one.word}{f': {one.note}' if one.note else ''}"


def curves(series: Mapping[str, Sequence[Point]], found: Sequence[Judged], length_s: float, title: str) -> str:
    """The series as small multiples, each from 0 to its largest value: one SVG document that needs nothing else."""
    shown = [one for one in found if any(point.value for point in series.get(one.name, ()))]
    rows = -(-len(shown) // _COLUMNS)
    width, height = _COLUMNS * _WIDTH, 34 + rows * (_HEIGHT + _TITLE)
    box = f"width='{width}' height='{height}'"
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' {box} role='img' font-family='sans-serif' font-size='10'>",
        f"<rect {box} fill='#ffffff'/>",
        f"<text x='8' y='20' font-size='13' font-weight='600'>{escape(title)}</text>",
    ]
    for number, one in enumerate(shown):
        left, top = number % _COLUMNS * _WIDTH, 34 + number // _COLUMNS * (_HEIGHT + _TITLE)
        lines += _panel(one, _thinned(series[one.name], length_s), length_s, left + 8, top)
    return "\n".join([*lines, "</svg>", ""])


def _panel(one: Judged, points: Sequence[tuple[float, float]], length_s: float, left: int, top: int) -> list[str]:
    most = max(value for _, value in points) or 1.0
    wide, bottom = _WIDTH - 16, top + _TITLE - 10 + _HEIGHT
    colour = _COLOURS.get(one.word, _RED)
    at = " ".join(f"{left + x / length_s * wide:.0f},{bottom - y / most * _HEIGHT:.0f}" for x, y in points)
    text = f"{one.name}: {most:.4g}{'' if one.word == 'level' else f' ({one.word})'}"
    return [
        f"<text x='{left}' y='{top + 12}' fill='{_RED if one.wrong else '#1f2328'}'>{escape(text)}</text>",
        f"<path d='M{left} {bottom}h{wide}' stroke='#d8dee4'/>",
        f"<polyline points='{at}' fill='none' stroke='{colour}' stroke-width='1.2'/>",
    ]


def _thinned(points: Sequence[Point], length_s: float) -> list[tuple[float, float]]:
    """Medians of so many parts of the soak."""
    parts: dict[int, list[Point]] = {}
    for one in points:
        if one.at <= length_s:
            parts.setdefault(int(one.at / length_s * _BUCKETS), []).append(one)
    return [(median(p.at for p in part), median(p.value for p in part)) for part in parts.values()]
