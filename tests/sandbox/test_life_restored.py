"""MySQL goes on with a snapshot of its volume as of before a row; the volume that it leaves is still protected."""

import re
from collections.abc import Iterator

import pytest

from tests.sandbox.volume_life import Config, protected_stack, pulumi, rows, up, write
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with protected_stack(tmp_path_factory.mktemp("project")) as running:
        yield running


def operate(stack: Running, *command: str) -> str:
    done = stack.run(stack.python, "-m", "nomad_stateful.operate", *command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_restored_volume_has_the_rows_from_before_the_snapshot_and_no_later_ones(stack: Running) -> None:
    at = stack.server_endpoint()
    write(stack, at, 1, 2, 3)
    snapshot_id = operate(stack, "snapshot", "mysql", "--quiesce", "--description", "before row 4").split()[0]
    write(stack, at, 4)
    assert re.search(
        rf"{snapshot_id} +mysql +own +1 GiB +completed .* before row 4", operate(stack, "snapshots", "mysql")
    )
    config = Config(stack)
    config.add({**config.volume("mysql"), "name": "restored", "snapshotId": snapshot_id, "protect": False})
    config.mysql()["volume"] = "restored"
    config.save()
    printed = up(stack)
    # The job moves to the restored volume; the one that it leaves is released afterwards.
    assert printed.index("mysql-job updated") < printed.index("mysql-release-mysql deleted")
    restored = stack.server_endpoint(not_allocation=at.allocation_id)
    assert rows(stack, restored) == [1, 2, 3]
    assert stack.nomad.get("volume/csi/mysql")["WriteAllocs"] == {}
    pulumi(stack, "preview", "--expect-no-changes", "--refresh")


def test_a_protected_volume_refuses_a_destroy_before_anything_stops(stack: Running) -> None:
    at = stack.server_endpoint()
    printed = pulumi(stack, "destroy", "--yes", succeeds=False)
    said = r'::volumes\.mysql\.protect" cannot be deleted\s+because it is protected.* remove the `protect` flag'
    assert re.search(said, printed), printed
    assert stack.server_endpoint().allocation_id == at.allocation_id
    pulumi(stack, "preview", "--expect-no-changes", "--refresh")
