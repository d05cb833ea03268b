"""The short plan: faults of every family on a running stack, and nothing lost, nothing left, nothing mounted twice."""

from ipaddress import IPv4Network
from pathlib import Path

import pytest

from tests import closing_lines
from tools.faults.cases import every_fault
from tools.faults.kind import Kind
from tools.faults.plan import plan
from tools.faults.runner import Options, Runner
from tools.faults.table import failures, table

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]

RUNS, SEED = 12, 1295


def test_nothing_is_lost_and_nothing_is_left_whatever_fails(tmp_path_factory: pytest.TempPathFactory) -> None:
    steps = plan([fault for fault in every_fault() if Kind().takes(fault)], RUNS, SEED)
    options = Options(
        lanes=1,
        name="nf",
        subnet=IPv4Network("10.173.130.0/24"),
        folder=tmp_path_factory.mktemp("lanes"),
        kept=tmp_path_factory.mktemp("failed"),
        repeat=lambda step: f"make faults RUNS={RUNS} SEED={SEED} RUN={step.number}",
    )
    results = Runner(options, steps).run()
    closing_lines.say(*table(results).splitlines())
    assert failures(results, SEED) == ""
    assert len(results) == RUNS
    assert sum(one.acknowledged for one in results) > 0
    assert list(Path(options.folder).iterdir()) == []
