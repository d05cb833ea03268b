"""Rows outlive what is replaced under a running server: a volume's registration, and all but the volume itself."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.whole_stack import changed, numbers, whole_stack, write
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with whole_stack(tmp_path_factory.mktemp("project")) as running:
        yield running


def test_a_changed_registration_is_replaced_under_a_running_server_in_the_safe_order(
    stack: Running, tmp_path: Path
) -> None:
    at = stack.server_endpoint()
    write(stack, at, 4)
    config = changed(stack, {"volumes.0.mountFlags": ["noatime"]}, tmp_path / "Pulumi.dev.yaml")
    words = ("pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--config-file", str(config))
    update = stack.run(*words)
    assert update.returncode == 0, update.stdout + update.stderr
    assert "stopping job mysql-server" in update.stdout
    assert 4 in numbers(stack, stack.server_endpoint(not_allocation=at.allocation_id))


def test_after_a_destroy_that_stopped_before_the_volume_the_rows_can_be_reached_again(stack: Running) -> None:
    write(stack, stack.server_endpoint(), 5)
    before = stack.outputs()["mysqlPassword"]
    listed = json.loads(stack.run("pulumi", "stack", "export").stdout)["deployment"]["resources"]
    (secret,) = [one["urn"] for one in listed if one["urn"].endswith("::mysql-password")]
    words = ("--yes", "--skip-preview", "--non-interactive", "--target", secret, "--target-dependents")
    half = stack.run("pulumi", "destroy", *words)
    assert half.returncode == 0, half.stdout + half.stderr
    again = stack.sandbox("up")
    assert again.returncode == 0, again.stdout + again.stderr
    assert stack.outputs()["mysqlPassword"] != before
    assert 5 in numbers(stack, stack.server_endpoint())
