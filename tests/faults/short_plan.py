"""The short plan: faults of every family on a running stack, and nothing lost, nothing left, nothing mounted twice.

It is dealt into parts, each on a sandbox of its own. Every change runs the first of them, with the kill of a
`pulumi up` and the full disk; the night runs the others.
"""

from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

import pytest

from tests import closing_lines
from tools.faults.cases import every_fault
from tools.faults.plan import Step, deal, plan
from tools.faults.runner import Options, Runner
from tools.faults.table import failures, table

RUNS, SEED, PARTS = 12, 1295, 6
TELLING: Final = frozenset({"engine", "disk"})
"""Families of which every change runs what there is."""


def parts() -> list[list[Step]]:
    """The plan in parts, the telling one first."""
    steps = plan([fault for fault in every_fault() if not fault.cannot()], RUNS, SEED)
    return sorted(deal(steps, PARTS), key=lambda part: -len(TELLING & {step.fault.family for step in part}))


def assert_that_nothing_is_lost(part: int, folders: pytest.TempPathFactory) -> None:
    """Runs one of the plan's parts."""
    options = Options(
        lanes=1,
        name=f"nf{part}",
        subnet=IPv4Network(f"10.173.{130 + part}.0/24"),
        folder=folders.mktemp("lanes"),
        kept=folders.mktemp("failed"),
        repeat=lambda step: f"make faults RUNS={RUNS} SEED={SEED} RUN={step.number}",
    )
    mine = parts()[part]
    results = Runner(options, mine).run()
    closing_lines.say(*table(results).splitlines())
    assert failures(results, SEED) == ""
    assert len(results) == len(mine) > 0
    assert sum(one.acknowledged for one in results) > 0
    assert list(Path(options.folder).iterdir()) == []
