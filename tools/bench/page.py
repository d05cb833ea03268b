"""docs/performance.md and its figures, made from the samples: `python -m tools.bench page`; --check only compares."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.bench import rows, tables
from tools.bench.failover import results as failovers
from tools.bench.growth import Measured
from tools.bench.samples import OK, Sample, select, summary
from tools.bench.targets import CASES, CONTENDERS, Case
from tools.drawing import Panel, Row, figure

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs/performance.md"
FIGURES = PROJECT / "docs/figures"
RESULTS = PROJECT / "tools/bench/results"
SAMPLES, MACHINE = "samples.csv", "machine.json"
SCALE = "scale.csv"
_IN_FIGURE = (
    ("up", "answering"),
    ("destroy", "nothing left"),
    ("preview", "command"),
)
_BLOCK = re.compile(r"(<!-- bench: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rendered(page: str, results: Path) -> str:
    """The page with its generated blocks made anew; blocks of other names are left as they are."""
    known = rows.read(results / SAMPLES, Sample)
    grown = rows.read(results / SCALE, Measured)
    blocks = {
        "machine": machine(json.loads((results / MACHINE).read_text(encoding="utf-8"))),
        "cases": tables.cases(known),
        "failures": tables.failures(known),
        "scale": tables.scale(grown),
        "memory": tables.memory(grown),
        "failover": failovers.table(failovers.read(results)),
    }

    def block(found: re.Match[str]) -> str:
        text = blocks.get(found["name"])
        return found[0] if text is None else f"{found[1]}\n{text}\n\n{found[3]}"

    return _BLOCK.sub(block, page)


def machine(facts: Mapping[str, str]) -> str:
    """Where and with what it was measured."""
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())


def figures(results: Path) -> dict[str, str]:
    """SVG documents by file name; without what was not measured."""
    known = rows.read(results / SAMPLES, Sample)
    shown = [case for case in CASES if (case.case, case.measure) in _IN_FIGURE]
    panels = [panel for case in shown if (panel := _panel(case, known)).rows]
    return {"bench-cases.svg": figure(panels)}


def _panel(case: Case, known: Sequence[Sample]) -> Panel:
    rows = []
    for contender in CONTENDERS:
        mine = select(known, case.case, contender, case.measure)
        found = summary(mine)
        if mine:
            note = f"failed {found.failed} of {len(mine)} times" if found.failed else ""
            values = [sample.seconds for sample in mine if sample.outcome == OK]
            rows.append(Row(contender, values, found.median, note))
    title = case.title.replace("`", "")
    return Panel(f"{title} (ours {case.target})" if case.target else title, rows)


def write(check: bool) -> bool:
    """Writes what differs; says whether anything did. With `check` it writes nothing.

    Where nothing was measured yet, there is nothing to show.
    """
    if not (RESULTS / MACHINE).is_file():
        return False
    wanted = {PAGE: rendered(PAGE.read_text(encoding="utf-8"), RESULTS)}
    wanted |= {FIGURES / name: text for name, text in figures(RESULTS).items()}
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if not check:
        FIGURES.mkdir(exist_ok=True)
        for path in stale:
            path.write_text(wanted[path], encoding="utf-8")
    return bool(stale)
