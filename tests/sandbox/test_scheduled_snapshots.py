"""Snapshots on schedule of EBS volumes that Pulumi did not make, one by hand and one by its driver, for a week."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.sandbox.changing_volumes import edit, pulumi, restore
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

AWAY = "eu-central-1"
TAG = "nomad-stateful-snapshots"
DAILY = {
    "name": "daily",
    "schedule": "0 3 * * *",
    "keep": 3,
    "copies": [{"region": AWAY, "keepDays": 30}],
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A stack with one volume, which its driver has made."""
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    path = running.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    del whole["config"]["nomad-stateful:mysql"]
    made = {"name": "made", "provision": "plugin", "zone": "us-west-2a", "sizeGib": 1, "protect": False}
    whole["config"]["nomad-stateful:volumes"] = [made]
    path.write_text(yaml.safe_dump(whole))
    with running.up():
        yield running


@pytest.fixture(scope="module")
def ledger(stack: Running) -> str:
    """An EBS volume that somebody has made by hand, whose snapshots another stack takes."""
    tags = [{"Key": "Name", "Value": "the ledger's disk"}, {"Key": TAG, "Value": "others/prod/ledger"}]
    made = stack.ec2.create_volume(
        AvailabilityZone="us-west-2a", Size=1, TagSpecifications=[{"ResourceType": "volume", "Tags": tags}]
    )
    return str(made["VolumeId"])


def tags_of(stack: Running, volume_id: str) -> dict[str, str]:
    found = stack.ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0].get("Tags") or []
    return {tag["Key"]: tag["Value"] for tag in found}


def snapshots_of(stack: Running, volume_id: str) -> list[Any]:
    filters = [{"Name": "volume-id", "Values": [volume_id]}]
    return list(stack.ec2.describe_snapshots(OwnerIds=["self"], Filters=filters)["Snapshots"])


def copies(stack: Running, name: str) -> int:
    """How many copies of a volume's snapshots are in the other region."""
    ec2 = stack.aws("ec2", AWAY)
    filters = [{"Name": f"tag:{TAG}", "Values": [f"nomad-stateful/dev/{name}"]}]
    found = ec2.describe_snapshots(OwnerIds=["self"], Filters=filters)["Snapshots"]
    ec2.close()
    return len(found)


def forward(stack: Running, by: str) -> str:
    return stack.ctl("clock", "forward", by)


def scheduled(ledger: str) -> Any:
    """Schedules both volumes."""

    def change(config: dict[str, Any]) -> None:
        existing = {"name": "ledger", "provision": "existing", "externalId": ledger, "zone": "us-west-2a"}
        config["volumes"][0]["snapshots"] = [DAILY]
        config["volumes"][1:] = [{**existing, "snapshots": [DAILY]}]

    return change


def test_a_volume_that_another_stack_schedules_is_refused_before_anything_is_made(stack: Running, ledger: str) -> None:
    before = edit(stack, scheduled(ledger))
    said = pulumi(stack, "up", "--yes", succeeds=False)
    assert f"it has the tag {TAG}: others/prod/ledger, by which the schedules of another stack" in said
    assert tags_of(stack, ledger)[TAG] == "others/prod/ledger"
    restore(stack, before)


def test_a_week_of_snapshots_is_taken_kept_copied_and_listed(stack: Running, ledger: str) -> None:
    stack.ec2.delete_tags(Resources=[ledger], Tags=[{"Key": TAG}])
    edit(stack, scheduled(ledger))
    pulumi(stack, "up", "--yes", "--skip-preview")
    pulumi(stack, "preview", "--refresh", "--expect-no-changes")
    made = str(stack.outputs()["volumes"]["made"]["id"])
    assert {name: tags_of(stack, one)[TAG] for name, one in {"made": made, "ledger": ledger}.items()} == {
        "made": "nomad-stateful/dev/made",
        "ledger": "nomad-stateful/dev/ledger",
    }
    forward(stack, "7d")
    for name, one in {"made": made, "ledger": ledger}.items():
        assert (len(snapshots_of(stack, one)), copies(stack, name)) == (3, 7), name
    done = stack.run(stack.python, "-m", "nomad_stateful.operate", "snapshots", "ledger")
    assert done.returncode == 0, done.stdout + done.stderr
    head, *rows = [line.split() for line in done.stdout.splitlines()]
    assert head[:4] == ["SNAPSHOT", "VOLUME", "STACK", "REGION"]
    assert sorted(row[1:4] for row in rows) == sorted(
        [["ledger", "own", AWAY]] * 7 + [["ledger", "own", "us-west-2"]] * 3
    )


def test_without_its_schedule_a_volume_has_no_tag_and_its_snapshots_stay(stack: Running, ledger: str) -> None:
    edit(stack, lambda config: config["volumes"][1].pop("snapshots"))
    pulumi(stack, "up", "--yes", "--skip-preview")
    pulumi(stack, "preview", "--refresh", "--expect-no-changes")
    assert tags_of(stack, ledger) == {"Name": "the ledger's disk"}
    forward(stack, "3d")
    assert (len(snapshots_of(stack, ledger)), copies(stack, "ledger"), copies(stack, "made")) == (3, 7, 10)


def test_a_destroy_leaves_the_snapshots_and_the_volume_that_was_made_by_hand(stack: Running, ledger: str) -> None:
    made = str(stack.outputs()["volumes"]["made"]["id"])
    pulumi(stack, "destroy", "--yes")
    assert (len(snapshots_of(stack, made)), len(snapshots_of(stack, ledger))) == (3, 3)
    assert tags_of(stack, ledger) == {"Name": "the ledger's disk"}
