"""Changes of consumers and volumes, as the documents describe them: previewed, made, nothing left to do.

On the official nomad plugin where OFFICIAL has it; `make nightly` then has the same on the embedded one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.changing_stack import (
    GROWN,
    MYSQL_ELSEWHERE,
    TWO_LOGS,
    assert_that_nothing_is_left_to_do,
    changing_stack,
    consumers,
    edited,
)
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with changing_stack(tmp_path_factory.mktemp("project")) as running:
        yield running


CHANGES: dict[str, dict[str, Any]] = {
    "consumers added, mount flags": {"consumers": consumers("logs", "keeper"), "volumes.0.mountFlags": ["noatime"]},
    "a consumer scaled, a volume grown": {
        "consumers": consumers("logs", "keeper", count=2),
        **GROWN,
    },
    "a consumer renamed": {
        "consumers": [*TWO_LOGS, consumers("keeper")[0] | {"name": "archive", "renamedFrom": "keeper"}],
        **GROWN,
    },
    "a consumer removed, MySQL on another volume": MYSQL_ELSEWHERE,
}


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_nothing_is_left_to_do_and_exactly_the_configured_jobs_run(
    stack: Running, tmp_path: Path, change: str
) -> None:
    assert_that_nothing_is_left_to_do(stack, edited(stack, CHANGES[change], tmp_path / "Pulumi.dev.yaml"))
