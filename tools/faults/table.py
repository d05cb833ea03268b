"""What came out: a table with a line for each fault, and what to do about runs that failed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from tools import drawing, json_lines, markdown
from tools.faults.pauses import Spread


@dataclass
class Result:
    """What one run showed."""

    number: int
    fault: str
    family: str
    database: str = ""
    lane: int = 0
    seconds: float = 0
    recovery_s: float = 0
    """From the fault to the promised state with new commits acknowledged (or, after a destroy, nothing left)."""
    acknowledged: int = 0
    """Commits that the database acknowledged during the run."""
    lost: list[int] = field(default_factory=list)
    """Acknowledged rows that are not there any more."""
    orphans: list[str] = field(default_factory=list)
    """What no state and no allocation answers for."""
    detached: list[str] = field(default_factory=list)
    """Detachments of a volume that was mounted; broken promises but for faults that cause them on purpose."""
    problems: list[str] = field(default_factory=list)
    """Every other broken promise, and those detachments where they are one."""
    pauses: Spread | None = None
    """Of the writer, of a fault that has a target for them."""
    target_s: float = 0
    seen: str = ""
    """What the fault itself says about the run."""
    kept: str = ""
    """The folder with its logs, when it failed."""
    repeat: str = ""
    """The command that repeats just this run."""

    @property
    def failed(self) -> bool:
        """Whether any promise was broken."""
        return bool(self.lost or self.orphans or self.problems)

    @property
    def slow(self) -> bool:
        """Whether the writer waited for longer than the target, and that was not the machine's doing."""
        return self.pauses is not None and self.pauses.longest - self.pauses.stall > self.target_s

    @property
    def paused(self) -> str:
        """Its pauses, in words; empty where they were not measured."""
        if self.pauses is None:
            return ""
        said = f"pauses {self.pauses.median} median, {self.pauses.p99} p99, {self.pauses.longest} s longest"
        said += f" at {self.pauses.after:+} s (machine stalled for up to {self.pauses.stall} s)"
        return f"{said}, target {self.target_s:.0f} s{': slow' if self.slow else ''}; "


_HEADER = (
    "fault",
    "family",
    "database",
    "runs",
    "rows acknowledged",
    "rows lost",
    "orphans",
    "detached mounted",
    "longest recovery s",
    "result",
)
_PAUSES = ("pauses of the writer, s", "runs", "median", "p99", "longest, median", "longest", "machine's", "target", "")


def table(results: Sequence[Result]) -> str:
    """One line for each fault, and the totals."""
    names = sorted({(one.family, one.fault) for one in results})
    lines = [_line([one for one in results if one.fault == fault], fault, family) for family, fault in names]
    total = _line(results, "total", "")
    widths = [max(len(line[column]) for line in (_HEADER, *lines, total)) for column in range(len(_HEADER))]
    rule = tuple("-" * width for width in widths)
    return "\n".join(_aligned(line, widths) for line in (_HEADER, rule, *lines, rule, total))


def tables(results: Sequence[Result]) -> str:
    """The table, and one of pauses for faults that have a target for them."""
    names = sorted({(one.fault, one.target_s) for one in results if one.pauses})
    rows = [_pauses([one for one in results if one.fault == fault], fault, target_s) for fault, target_s in names]
    return "\n\n".join([table(results), *([markdown.table(_PAUSES, rows)] if rows else [])])


def picture(results: Sequence[Result]) -> str:
    """The longest pause of each run as a dot, in SVG: a panel for each target, a line for each fault."""
    targets = sorted({one.target_s for one in results if one.pauses})
    return drawing.figure([_panel([one for one in results if one.target_s == target_s]) for target_s in targets], 380)


def _panel(results: Sequence[Result]) -> drawing.Panel:
    longest: dict[str, list[float]] = {}
    for one in results:
        if one.pauses:
            longest.setdefault(one.fault, []).append(one.pauses.longest)
    rows = [drawing.Row(fault, values, median(values)) for fault, values in sorted(longest.items())]
    return drawing.Panel(f"Longest pause of writes in a run; wanted: at most {results[0].target_s:.0f} s", rows)


def _pauses(results: Sequence[Result], fault: str, target_s: float) -> list[str]:
    measured = [one.pauses for one in results if one.pauses]
    longest = sorted(one.longest for one in measured)
    slow = ", ".join(str(one.number) for one in results if one.slow)
    most = [max(getattr(one, name) for one in measured) for name in ("median", "p99", "longest", "stall")]
    return [
        fault,
        str(len(measured)),
        *map(str, (*most[:2], longest[len(longest) // 2], *most[2:])),
        f"{target_s:.0f}",
        f"slow: run {slow}" * bool(slow),
    ]


def failures(results: Iterable[Result], seed: int) -> str:
    """Each failed run: the seed, its number, what was broken, where its logs are, and how to repeat just it."""
    blocks = []
    for one in sorted((one for one in results if one.failed), key=lambda one: one.number):
        lines = [f"run {one.number} of seed {seed} failed: {one.fault}"]
        lines += [f"  {problem}" for problem in one.problems]
        lines += [f"  {len(one.lost)} acknowledged rows lost: {_some(one.lost)}"] if one.lost else []
        lines += [f"  orphan: {orphan}" for orphan in one.orphans]
        lines += [f"  seen: {one.seen}"] if one.seen else []
        lines += [f"  logs: {one.kept}"] if one.kept else []
        blocks.append("\n".join([*lines, f"  again: {one.repeat}"]))
    return "\n\n".join(blocks)


def read(path: Path, plan: str) -> list[Result]:
    """The newest result of each run of a plan that a file has, by number."""
    lines = {line["number"]: line for line in json_lines.read(path) if line.pop("plan") == plan}
    return [
        Result(**{**line, "pauses": line["pauses"] and Spread(**line["pauses"])}) for _, line in sorted(lines.items())
    ]


def append(path: Path, plan: str, result: Result) -> None:
    """Appends a result to a file; `plan` is what chooses the same faults in the same order."""
    json_lines.append(path, {"plan": plan, **asdict(result)})


def _line(results: Sequence[Result], fault: str, family: str) -> tuple[str, ...]:
    bad = sorted(one.number for one in results if one.failed)
    return (
        fault,
        family,
        ", ".join(sorted({one.database for one in results})) if family else "",
        str(len(results)),
        str(sum(one.acknowledged for one in results)),
        str(sum(len(one.lost) for one in results)),
        str(sum(len(one.orphans) for one in results)),
        str(sum(len(one.detached) for one in results)),
        f"{max((one.recovery_s for one in results), default=0):.1f}",
        f"FAILED: run {', '.join(map(str, bad))}" if bad else "ok",
    )


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.rjust(width) if 3 <= column <= 8 else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def _some(numbers: Sequence[int], most: int = 10) -> str:
    return ", ".join(map(str, numbers[:most])) + (", …" if len(numbers) > most else "")
