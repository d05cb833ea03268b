"""A protected volume's end: it outlives an engine that goes round its protection, and leaves a final snapshot."""

import re
from collections.abc import Iterator

import pytest

from tests.sandbox.volume_life import Config, protected_stack, pulumi, rows, up, write
from tools.trial.running import Running, traces

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with protected_stack(tmp_path_factory.mktemp("project")) as running:
        yield running


def test_a_protected_volume_stays_where_the_engine_goes_round_its_protection(stack: Running) -> None:
    """As `destroy --ignore-protect` of newer engines does."""
    volume_id = stack.outputs()["volumes"]["mysql"]["id"]
    write(stack, stack.server_endpoint(), 1, 2)
    unprotected = stack.run("pulumi", "state", "unprotect", "--all", "--yes", "--non-interactive")
    assert unprotected.returncode == 0, unprotected.stdout + unprotected.stderr
    printed = pulumi(stack, "destroy", "--yes", succeeds=False)
    assert (
        f"volumes.mysql.protect was true in the last `pulumi up`: volume mysql ({volume_id}) is not deleted" in printed
    )
    assert stack.ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"]
    pulumi(stack, "up", "--yes", "--refresh", "--suppress-outputs")
    assert stack.outputs()["volumes"]["mysql"]["id"] == volume_id
    assert rows(stack, stack.server_endpoint()) == [1, 2]
    pulumi(stack, "preview", "--expect-no-changes", "--refresh")


def test_unprotected_it_is_destroyed_and_its_final_snapshot_is_told(stack: Running) -> None:
    config = Config(stack)
    config.volume("mysql")["protect"] = False
    config.save()
    up(stack)
    volume_id = stack.outputs()["volumes"]["mysql"]["id"]
    printed = pulumi(stack, "destroy", "--yes")
    told = re.search(r"the contents of volume mysql are in snapshot (snap-[0-9a-f]+)", printed)
    assert told, printed
    [snapshot] = stack.ec2.describe_snapshots(SnapshotIds=[told[1]])["Snapshots"]
    assert (snapshot["VolumeId"], snapshot["State"]) == (volume_id, "completed")
    # The others were never protected.
    assert "the contents of volume archive" not in printed
    assert stack.ec2.describe_volumes(Filters=[{"Name": "tag:Name", "Values": ["mysql", "archive"]}])["Volumes"] == []


def test_nothing_is_left_of_the_sandbox(stack: Running) -> None:
    down = stack.sandbox("down")
    assert down.returncode == 0, down.stdout + down.stderr
    assert {kind: found for kind, found in traces(stack.ground.name, stack.project / ".sandbox").items() if found} == {}
