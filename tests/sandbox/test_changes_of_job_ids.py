"""Changes of job ids, as the documents describe them: previewed, made, nothing left to do.

On the official nomad plugin where OFFICIAL has it; `make nightly` then has the same on the embedded one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.changing_stack import (
    ELSEWHERE,
    GROWN,
    MYSQL_ELSEWHERE,
    OTHER_PLUGIN_JOBS,
    TWO_LOGS,
    assert_that_nothing_is_left_to_do,
    changing_stack,
    edited,
)
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with changing_stack(tmp_path_factory.mktemp("project"), MYSQL_ELSEWHERE) as running:
        yield running


CHANGES: dict[str, dict[str, Any]] = {
    "another id of MySQL's job, more memory, and its volume back": {
        "consumers": TWO_LOGS,
        "mysql.jobId": "mysql-other",
        "mysql.memoryMib": 400,
        **GROWN,
    },
    "MySQL's id back, other ids of the plugin's jobs": OTHER_PLUGIN_JOBS,
}


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


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_nothing_is_left_to_do_and_exactly_the_configured_jobs_run(
    stack: Running, tmp_path: Path, change: str
) -> None:
    assert_that_nothing_is_left_to_do(stack, edited(stack, CHANGES[change], tmp_path / "Pulumi.dev.yaml"))
