"""What came of schedules: a line of JSON for each, appended to a file, and a table of all that are in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tools import json_lines, markdown
from tools.trial.servers import MYSQL

_VERDICTS = ("right", "wrong", "undecided", "broken", "not run")


@dataclass(frozen=True)
class Line:
    """One schedule that was run."""

    seed: int
    number: int
    schedule: str
    verdict: str
    """right; wrong or undecided where the judge says so; broken where another promise is; not run."""
    problems: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    database: str = MYSQL.title


def verdict_of(problems: list[str]) -> str:
    """The verdict for what was found: the judge's words begin with the name of a history."""
    for verdict in ("wrong", "undecided"):
        if any(f".jsonl: {verdict}: " in problem for problem in problems):
            return verdict
    return "broken" if problems else "right"


def append(path: Path, line: Line) -> None:
    """Appends a line; what earlier runs left stays."""
    json_lines.append(path, asdict(line))


def read(path: Path) -> list[Line]:
    """The newest line of each schedule in a file."""
    lines = [Line(**line) for line in json_lines.read(path)]
    return list({(line.database, line.seed, line.number, line.schedule): line for line in lines}.values())


def table(lines: list[Line]) -> str:
    """A line for each seed of a database, and one for all."""
    head = ["database, seed", "schedules", *_VERDICTS, "operations ok", "failed", "unknown", "reads"]
    seeds = sorted({(line.database, line.seed) for line in lines})
    rows = [
        _row(f"{database}, {seed}", [line for line in lines if (line.database, line.seed) == (database, seed)])
        for database, seed in seeds
    ]
    return markdown.table(head, [*rows, _row("all", lines)])


def _row(name: str, lines: list[Line]) -> list[str]:
    verdicts, counts = (
        Counter(line.verdict for line in lines),
        sum((Counter(one.counts) for one in lines), Counter[str]()),
    )
    numbers = [len(lines), *(verdicts[one] for one in _VERDICTS)]
    return [name, *map(str, [*numbers, *(counts[one] for one in ("ok", "failed", "unknown", "reads"))])]
