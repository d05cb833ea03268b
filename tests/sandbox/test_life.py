"""A volume's whole life: refusals, growth while it is in use, snapshot and restore, protection, final snapshot."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from nomad_stateful.nomad.running_job import Endpoint, is_running
from sandbox.cloud import enter
from sandbox.settings import CONFIG_VARIABLE, HOME_VARIABLE, load_settings
from tools.trial.kernel import may_grow_mounted_ext4
from tools.trial.running import Running, eventually, traces

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]

GIB = 1 << 30
HOLDER = {
    "ID": "holder",
    "Name": "holder",
    "Type": "service",
    "Datacenters": ["*"],
    "TaskGroups": [
        {
            "Name": "holder",
            "Count": 1,
            "Volumes": {
                "data": {
                    "Name": "data",
                    "Type": "csi",
                    "Source": "archive",
                    "AccessMode": "single-node-writer",
                    "AttachmentMode": "file-system",
                }
            },
            "Tasks": [
                {
                    "Name": "holder",
                    "Driver": "exec",
                    "User": "nobody",
                    "Config": {"command": "/bin/sleep", "args": ["3600"]},
                    "VolumeMounts": [{"Volume": "data", "Destination": "/data"}],
                    "Resources": {"CPU": 20, "MemoryMB": 32},
                }
            ],
        }
    ],
}


class Config:
    """The stack's configuration file, and changes to its volumes."""

    def __init__(self, stack: Running) -> None:
        self._path = stack.project / "Pulumi.dev.yaml"
        self._known: dict[str, Any] = yaml.safe_load(self._path.read_text())
        self._before = self._path.read_text()

    def volume(self, name: str) -> dict[str, Any]:
        volumes = self._known["config"]["nomad-stateful:volumes"]
        return next(volume for volume in volumes if volume["name"] == name)

    def add(self, volume: dict[str, Any]) -> None:
        self._known["config"]["nomad-stateful:volumes"].append(volume)

    def mysql(self) -> dict[str, Any]:
        return self._known["config"]["nomad-stateful:mysql"]  # type: ignore[no-any-return]

    def save(self) -> None:
        self._path.write_text(yaml.safe_dump(self._known, sort_keys=False))

    def undo(self) -> None:
        self._path.write_text(self._before)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    config = Config(running)
    config.volume("mysql")["protect"] = True
    # It may be grown while it is mounted wherever the sandbox runs.
    config.volume("archive")["fsType"] = "xfs"
    config.save()
    with running.up():
        yield running


def pulumi(stack: Running, *command: str, succeeds: bool = True) -> str:
    """What pulumi prints."""
    done = stack.run("pulumi", *command, "--non-interactive", "--diff=false", timeout_s=300)
    printed = done.stdout + done.stderr
    assert (done.returncode == 0) is succeeds, printed
    assert "Traceback" not in printed
    return printed


def up(stack: Running) -> str:
    return pulumi(stack, "up", "--yes", "--suppress-outputs")


def operate(stack: Running, *command: str) -> str:
    done = stack.run(stack.python, "-m", "operate", *command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def size_inside(stack: Running, allocation_id: str, task: str, path: str) -> int:
    """Bytes of the file system at a path, as `df` in the allocation counts them."""
    done = stack.in_task(allocation_id, "/bin/sh", "-c", f"df -k --output=size {path} | tail -n 1", task=task)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout) * 1024


def write(stack: Running, at: Endpoint, *numbers: int) -> None:
    table = ("CREATE DATABASE IF NOT EXISTS t", "CREATE TABLE IF NOT EXISTS t.life (id INT PRIMARY KEY)")
    stack.sql(at, *table, *[f"INSERT INTO t.life VALUES ({number})" for number in numbers])


def rows(stack: Running, at: Endpoint) -> list[int]:
    return [row[0] for row in stack.sql(at, "SELECT id FROM t.life ORDER BY id")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"zone": "us-west-2b"},
            r"volumes\.mysql\.zone is us-west-2b: EBS volumes cannot move.*: .*operate move mysql --zone us-west-2b",
        ),
        ({"encrypted": False}, r"volumes\.mysql\.encrypted is false: .*snapshot and restore"),
        ({"snapshotId": "snap-0123456789abcdef0"}, r"volumes\.mysql\.snapshotId is snap-0123456789abcdef0: .*new name"),
    ],
)
def test_what_a_volume_cannot_do_is_refused_at_preview(stack: Running, change: dict[str, Any], said: str) -> None:
    refused(stack, change, said)


def refused(stack: Running, change: dict[str, Any], said: str) -> None:
    config = Config(stack)
    config.volume("mysql").update(change)
    config.save()
    try:
        printed = pulumi(stack, "preview", succeeds=False)
    finally:
        config.undo()
    assert re.search(said, printed), printed
    assert "aws:ebs:Volume ebs-mysql" not in printed
    assert "to replace" not in printed


def inside(stack: Running, instance: str, script: str) -> str:
    """What a script run as root on an instance prints."""
    place = {HOME_VARIABLE: str(stack.project / ".sandbox"), CONFIG_VARIABLE: str(stack.project / "sandbox.toml")}
    settings = load_settings(place)
    done = stack.run(*enter(instance, settings), "sh", "-ec", script)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def grow_unmounted(stack: Running) -> None:
    """The runbook's way on for a file system that no client can grow while it is mounted."""
    volume_id = stack.outputs()["volumes"]["mysql"]["id"]
    stack.nomad.delete("job/mysql-server")
    stack.ec2.get_waiter("volume_available").wait(VolumeIds=[volume_id], WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    described = stack.ec2.describe_instances(Filters=[{"Name": "availability-zone", "Values": ["us-west-2a"]}])
    instance_id = described["Reservations"][0]["Instances"][0]["InstanceId"]
    stack.ec2.attach_volume(VolumeId=volume_id, InstanceId=instance_id, Device="/dev/xvdcx")
    device = f"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_{volume_id.replace('-', '')}"
    inside(stack, instance_id, f"e2fsck -f -p {device} && resize2fs {device}")
    stack.ec2.detach_volume(VolumeId=volume_id)


def test_mysql_grows_by_one_number_without_losing_a_row(stack: Running) -> None:
    before = stack.mysql_endpoint()
    write(stack, before, 1, 2)
    assert size_inside(stack, before.allocation_id, "mysql", "/srv") < GIB
    config = Config(stack)
    config.volume("mysql")["sizeGib"] = 2
    config.save()
    preview = pulumi(stack, "preview")
    assert "replace" not in preview
    assert "mysql-job" not in preview
    after = before
    if may_grow_mounted_ext4():
        assert "volume mysql has 2 GiB; its file system grew while it was mounted (0.9" in up(stack)
    else:
        printed = pulumi(stack, "up", "--yes", succeeds=False)
        assert "but the client refused to grow its file system while it is mounted" in printed
        assert "Nothing was restarted" in printed
        assert stack.mysql_endpoint().allocation_id == before.allocation_id
        assert rows(stack, before) == [1, 2]
        grow_unmounted(stack)
        pulumi(stack, "up", "--yes", "--refresh")
        after = stack.mysql_endpoint(not_allocation=before.allocation_id)
    assert 1.8 * GIB < size_inside(stack, after.allocation_id, "mysql", "/srv") < 2 * GIB
    assert rows(stack, after) == [1, 2]
    pulumi(stack, "preview", "--expect-no-changes", "--refresh")


def test_shrinking_is_refused_at_preview(stack: Running) -> None:
    said = r"volumes\.mysql\.sizeGib is 1: EBS volumes cannot shrink, and this one has 2 GiB\. Keep sizeGib: 2 or more"
    refused(stack, {"sizeGib": 1}, said)


def test_a_file_system_that_can_grow_while_it_is_mounted_does_and_nothing_restarts(stack: Running) -> None:
    nomad = stack.nomad
    nomad.put("jobs", {"Job": HOLDER})

    def running() -> str | None:
        stubs = nomad.get("job/holder/allocations")
        return next((stub["ID"] for stub in stubs if is_running(stub)), None)

    allocation_id = eventually(running, 240, "a running allocation of holder", lambda: _events(stack))
    assert size_inside(stack, allocation_id, "holder", "/data") < GIB
    config = Config(stack)
    config.volume("archive")["sizeGib"] = 2
    config.save()
    grew = r"volume archive has 2 GiB; its file system grew while it was mounted \(0\.9\d GiB -> 1\.9\d GiB\)"
    printed = up(stack)
    assert re.search(grew, printed), printed
    assert running() == allocation_id
    assert size_inside(stack, allocation_id, "holder", "/data") > 1.8 * GIB
    assert nomad.get("volume/csi/archive")["Capacity"] == 2 * GIB
    nomad.delete("job/holder", purge=True)
    eventually(lambda: not nomad.get("volume/csi/archive")["WriteAllocs"] or None, 240, "archive is let go")


def _events(stack: Running) -> str:
    return str([stub["TaskStates"] for stub in stack.nomad.get("job/holder/allocations")])


def test_a_restored_volume_has_the_rows_from_before_the_snapshot_and_no_later_ones(stack: Running) -> None:
    at = stack.mysql_endpoint()
    write(stack, at, 3)
    snapshot_id = operate(stack, "snapshot", "mysql", "--quiesce", "--description", "before row 4").split()[0]
    write(stack, at, 4)
    assert re.search(
        rf"{snapshot_id} +mysql +own +2 GiB +completed .* before row 4", operate(stack, "snapshots", "mysql")
    )
    config = Config(stack)
    config.add({**config.volume("mysql"), "name": "restored", "snapshotId": snapshot_id, "protect": False})
    config.mysql()["volume"] = "restored"
    config.save()
    printed = up(stack)
    # The job moves to the restored volume; the one that it leaves is released afterwards.
    assert printed.index("mysql-job updated") < printed.index("mysql-release-mysql deleted")
    restored = stack.mysql_endpoint(not_allocation=at.allocation_id)
    assert rows(stack, restored) == [1, 2, 3]
    assert stack.nomad.get("volume/csi/mysql")["WriteAllocs"] == {}
    pulumi(stack, "preview", "--expect-no-changes", "--refresh")


def test_a_protected_volume_refuses_a_destroy_before_anything_stops(stack: Running) -> None:
    at = stack.mysql_endpoint()
    printed = pulumi(stack, "destroy", "--yes", succeeds=False)
    said = r'::volumes\.mysql\.protect" cannot be deleted\s+because it is protected.* remove the `protect` flag'
    assert re.search(said, printed), printed
    assert stack.mysql_endpoint().allocation_id == at.allocation_id
    pulumi(stack, "preview", "--expect-no-changes", "--refresh")


def test_a_protected_volume_stays_where_the_engine_goes_round_its_protection(stack: Running) -> None:
    """As `destroy --ignore-protect` of newer engines does."""
    volume_id, before = stack.outputs()["volumes"]["mysql"]["id"], rows(stack, stack.mysql_endpoint())
    unprotected = stack.run("pulumi", "state", "unprotect", "--all", "--yes", "--non-interactive")
    assert unprotected.returncode == 0, unprotected.stdout + unprotected.stderr
    printed = pulumi(stack, "destroy", "--yes", succeeds=False)
    assert (
        f"volumes.mysql.protect was true in the last `pulumi up`: volume mysql ({volume_id}) is not deleted" in printed
    )
    assert stack.ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"]
    pulumi(stack, "up", "--yes", "--refresh", "--suppress-outputs")
    assert stack.outputs()["volumes"]["mysql"]["id"] == volume_id
    assert rows(stack, stack.mysql_endpoint()) == before
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
