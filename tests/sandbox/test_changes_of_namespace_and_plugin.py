"""Changes of job ids, namespace and plugin id, as the documents describe them, and a destroy after all of it.

On the official nomad plugin where OFFICIAL has it; `make nightly` then has the same on the embedded one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.changing_stack import (
    ELSEWHERE,
    GROWN,
    MYSQL_OTHER,
    OTHER_PLUGIN_JOBS,
    TWO_LOGS,
    assert_that_nothing_is_left_to_do,
    changing_stack,
    edited,
    jobs_in_nomad,
)
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with changing_stack(tmp_path_factory.mktemp("project"), MYSQL_OTHER) as running:
        yield running


CHANGES: dict[str, dict[str, Any]] = {
    "MySQL's id back, other ids of the plugin's jobs": OTHER_PLUGIN_JOBS,
    "another namespace": {"consumers": TWO_LOGS, "placement.namespace": ELSEWHERE, **GROWN},
    "the namespace back, another plugin id": {"consumers": TWO_LOGS, "plugins.0.id": "ebs1", **GROWN},
}


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_nothing_is_left_to_do_and_exactly_the_configured_jobs_run(
    stack: Running, tmp_path: Path, change: str
) -> None:
    assert_that_nothing_is_left_to_do(stack, edited(stack, CHANGES[change], tmp_path / "Pulumi.dev.yaml"))


def test_after_all_that_the_stack_can_be_destroyed_and_no_job_is_left(stack: Running) -> None:
    destroyed = stack.run("pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive", timeout_s=600)
    assert destroyed.returncode == 0, destroyed.stdout + destroyed.stderr
    eventually(lambda: jobs_in_nomad(stack) == {} or None, 240, "no job", lambda: str(jobs_in_nomad(stack)))
