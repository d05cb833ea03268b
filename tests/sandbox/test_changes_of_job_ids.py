"""A change of the id of MySQL's job, as the documents describe it, and a second stack beside: nothing left to do.

On the official nomad plugin where OFFICIAL has it; `make nightly` then has the same on the embedded one, and more
changes in any case (test_changes_of_*.py).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.changing_stack import (
    ELSEWHERE,
    MYSQL_ELSEWHERE,
    MYSQL_OTHER,
    assert_that_nothing_is_left_to_do,
    changing_stack,
    edited,
)
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with changing_stack(tmp_path_factory.mktemp("project"), MYSQL_ELSEWHERE) as running:
        yield running


def test_a_second_stack_can_be_previewed_before_anything_of_it_is_there(stack: Running, tmp_path: Path) -> None:
    backend = tmp_path / "backend"
    backend.mkdir()
    there = Running(stack.project, {**stack.env, "PULUMI_BACKEND_URL": f"file://{backend}"}, stack.ground)
    try:
        assert there.run("pulumi", "stack", "init", "second", "--no-select", "--non-interactive").returncode == 0
        # In its own namespace: the ids of the first one are taken.
        config = edited(stack, {"placement.namespace": ELSEWHERE}, tmp_path / "Pulumi.second.yaml")
        preview = there.run("pulumi", "preview", "--non-interactive", "--stack", "second", "--config-file", str(config))
        assert preview.returncode == 0, preview.stdout + preview.stderr
    finally:
        (stack.project / "Pulumi.second.yaml").unlink(missing_ok=True)


def test_after_another_id_of_mysqls_job_nothing_is_left_to_do_and_exactly_the_configured_jobs_run(
    stack: Running, tmp_path: Path
) -> None:
    """More memory, too, and its first volume back."""
    assert_that_nothing_is_left_to_do(stack, edited(stack, MYSQL_OTHER, tmp_path / "Pulumi.dev.yaml"))
