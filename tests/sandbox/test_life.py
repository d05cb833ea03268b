"""What a volume that is in use can become: it grows under MySQL and under a consumer; the rest is refused."""

import re
from collections.abc import Iterator

import pytest

from nomad_stateful.nomad.running_job import is_running
from sandbox.cloud import enter
from sandbox.settings import CONFIG_VARIABLE, HOME_VARIABLE, load_settings
from tests.sandbox.volume_life import Config, protected_stack, pulumi, rows, up, write
from tools.trial.kernel import may_grow_mounted_ext4
from tools.trial.running import Running, eventually

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


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with protected_stack(tmp_path_factory.mktemp("project")) as running:
        yield running


def size_inside(stack: Running, allocation_id: str, task: str, path: str) -> int:
    """Bytes of the file system at a path, as `df` in the allocation counts them."""
    done = stack.in_task(allocation_id, "df", "-kP", path, task=task)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.splitlines()[-1].split()[1]) * 1024


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
    before = stack.server_endpoint()
    write(stack, before, 1, 2)
    assert size_inside(stack, before.allocation_id, "mysql", "/srv") < GIB
    config = Config(stack)
    config.volume("mysql")["sizeGib"] = 2
    config.save()
    preview = pulumi(stack, "preview")
    assert "replace" not in preview
    assert "mysql-job" not in preview
    after, update = before, ("up", "--yes", "--skip-preview")
    if may_grow_mounted_ext4():
        assert "volume mysql has 2 GiB; its file system grew while it was mounted (0.9" in pulumi(stack, *update)
    else:
        printed = pulumi(stack, *update, succeeds=False)
        assert "but the client refused to grow its file system while it is mounted" in printed
        assert "Nothing was restarted" in printed
        assert stack.server_endpoint().allocation_id == before.allocation_id
        assert rows(stack, before) == [1, 2]
        grow_unmounted(stack)
        pulumi(stack, *update, "--refresh")
        after = stack.server_endpoint(not_allocation=before.allocation_id)
    assert 1.8 * GIB < size_inside(stack, after.allocation_id, "mysql", "/srv") < 2 * GIB
    assert rows(stack, after) == [1, 2]
    pulumi(stack, "preview", "--expect-no-changes", "--refresh")


def test_what_a_volume_cannot_do_is_refused_at_preview(stack: Running) -> None:
    config = Config(stack)
    wanted = {"zone": "us-west-2b", "sizeGib": 1, "encrypted": False, "snapshotId": "snap-0123456789abcdef0"}
    config.volume("mysql").update(wanted)
    config.save()
    try:
        printed = pulumi(stack, "preview", succeeds=False)
    finally:
        config.undo()
    said = (
        r"volumes\.mysql\.zone is us-west-2b: EBS volumes cannot move.*: .*nomad-stateful move mysql --zone us-west-2b",
        r"volumes\.mysql\.sizeGib is 1: EBS volumes cannot shrink, and this one has 2 GiB\. Keep sizeGib: 2 or more",
        r"volumes\.mysql\.encrypted is false: .*snapshot and restore",
        r"volumes\.mysql\.snapshotId is snap-0123456789abcdef0: .*new name",
    )
    assert [pattern for pattern in said if not re.search(pattern, printed)] == [], printed
    assert "aws:ebs:Volume ebs-mysql" not in printed
    assert "to replace" not in printed


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
    # Longer than the provider takes to read the volume again.
    stack.ctl("fault", "on", "modifying", "--seconds", "5")
    grew = r"volume archive has 2 GiB; its file system grew while it was mounted \(0\.9\d GiB -> 1\.9\d GiB\)"
    printed = up(stack)
    stack.ctl("fault", "off")
    assert re.search(grew, printed), printed
    assert (
        "EC2 was still changing volume archive when the aws provider read it, or --target left it out: the state"
        in printed
    )
    pulumi(stack, "refresh", "--yes", "--skip-preview")
    pulumi(stack, "preview", "--expect-no-changes")
    assert running() == allocation_id
    assert size_inside(stack, allocation_id, "holder", "/data") > 1.8 * GIB
    assert nomad.get("volume/csi/archive")["Capacity"] == 2 * GIB
    nomad.delete("job/holder", purge=True)
    eventually(lambda: not nomad.get("volume/csi/archive")["WriteAllocs"] or None, 240, "archive is let go")


def _events(stack: Running) -> str:
    return str([stub["TaskStates"] for stub in stack.nomad.get("job/holder/allocations")])
