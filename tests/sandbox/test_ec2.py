"""The local cloud on the real kernel: namespaces, loop devices, mounts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from sandbox.cloud import enter, notices
from sandbox.cloud.ctl import kill
from sandbox.cloud.daemon import CALL_LOG
from sandbox.cloud.seed import seed
from sandbox.machine import control_groups, inventory, loops
from sandbox.machine.cleanup import cleanup
from sandbox.machine.hypervisor import link_down, link_up
from sandbox.settings import PROJECT, SandboxSettings
from tests.sandbox import local_cloud
from tests.sandbox.local_cloud import Cloud, on, start_daemon, until
from tools.trial.call_record import Calls, detached_while_mounted

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]


def leftovers(settings: SandboxSettings) -> list[str]:
    links = json.loads(subprocess.check_output(["ip", "-json", "link"]))
    found = [link["ifname"] for link in links if link["ifname"].startswith(f"{settings.name}-")]
    found += [str(image) for image in loops.devices_under(settings.home).values()]
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if str(settings.home) in line]
    found += [str(path) for path in control_groups_of(settings)]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if str(settings.home).encode() in command:
            found.append(command.decode())
    return found


def control_groups_of(settings: SandboxSettings, below: str = "") -> list[Path]:
    """The sandbox's groups in every tree of the machine."""
    name = control_groups.of_sandbox(settings) + below
    return [path for tree in ("", "*/") for path in Path("/sys/fs/cgroup").glob(tree + name)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[SandboxSettings, Path]:
    return local_cloud.place(tmp_path_factory.mktemp("ec2"))


@pytest.fixture(scope="module")
def cloud(place: tuple[SandboxSettings, Path]) -> Iterator[Cloud]:
    with local_cloud.running_cloud(*place) as running:
        yield running


@pytest.fixture
def volume(cloud: Cloud) -> Iterator[str]:
    with local_cloud.spare_volume(cloud) as volume_id:
        yield volume_id


def refused(call: Callable[..., Any], **arguments: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return str(caught.value.response["Error"]["Code"])


def test_an_instance_is_a_host_of_its_own(cloud: Cloud) -> None:
    address = cloud.instance("client-1").address
    name = f"ip-{address.replace('.', '-')}.us-west-2.compute.internal"
    assert cloud.run("client-1", "hostname").strip() == name
    assert address in cloud.run("client-1", "ip -brief address show eth0")
    assert "default" not in cloud.run("client-1", "ip route")
    assert cloud.run("client-1", "ls /dev | grep -c loop || true").strip() == "0"


def test_an_instance_has_control_groups_of_its_own(cloud: Cloud) -> None:
    cloud.run("client-1", "for tree in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir $tree/nomad 2>/dev/null || :; done")
    made = control_groups_of(cloud.settings, f"/{cloud.instance('client-1').instance_id}/nomad")
    assert made
    assert control_groups_of(cloud.settings, "/*/nomad") == made
    assert cloud.run("client-2", "ls -d /sys/fs/cgroup/nomad /sys/fs/cgroup/*/nomad 2>/dev/null || :") == ""
    # With version 2 the processes are one below the root.
    assert set(cloud.run("client-1", "cut -d : -f 3 /proc/1/cgroup").split()) <= {"/", "/init"}


def test_an_instance_runs_its_user_data_and_its_console_is_kept(cloud: Cloud) -> None:
    console = cloud.settings.log_dir / "client-2.log"
    until(lambda: f"up client-2 {cloud.instance('client-2').address}" in console.read_text())


def test_seeding_again_changes_nothing(cloud: Cloud) -> None:
    again = seed(cloud.settings, lambda spec, ip: "", *cloud.key)
    assert not again.changed
    assert again.instances == cloud.seeded.instances


def test_the_metadata_service_wants_a_token_and_gives_credentials_of_the_role(cloud: Cloud) -> None:
    base = "http://169.254.169.254/latest"
    assert cloud.run("client-1", f"curl -s -o /dev/null -w '%{{http_code}}' {base}/meta-data/mac") == "401"
    header = "X-aws-ec2-metadata-token"
    script = f"""
        token=$(curl -s -X PUT -H '{header}-ttl-seconds: 60' {base}/api/token)
        for path in meta-data/instance-id meta-data/placement/availability-zone; do
          curl -s -H "{header}: $token" {base}/$path; echo
        done
        curl -s -H "{header}: $token" {base}/meta-data/iam/security-credentials/nomad-client
    """
    instance = cloud.instance("client-1")
    instance_id, zone, document = cloud.run("client-1", script).split("\n", 2)
    assert (instance_id, zone) == (instance.instance_id, instance.zone)
    credentials = json.loads(document)
    sts: Any = boto3.client(
        "sts",
        region_name=cloud.settings.region,
        endpoint_url=cloud.settings.ec2_url,
        aws_access_key_id=credentials["AccessKeyId"],
        aws_secret_access_key=credentials["SecretAccessKey"],
        aws_session_token=credentials["Token"],
    )
    assert sts.get_caller_identity()["Arn"].endswith(f":assumed-role/nomad-client/{instance.instance_id}")
    calls = (cloud.settings.log_dir / "ec2-calls.jsonl").read_text()
    assert credentials["SecretAccessKey"] not in calls
    assert f"nomad-client/{instance.instance_id}" in calls


def test_a_token_reaches_a_container_behind_a_bridge_with_a_hop_limit_of_two_and_not_of_one(cloud: Cloud) -> None:
    cloud.run(
        "client-2",
        """
        ip netns add box
        ip link add bridge type veth peer name eth0 netns box
        ip address add 172.30.0.1/24 dev bridge
        ip link set bridge up
        ip -n box address add 172.30.0.2/24 dev eth0
        ip -n box link set eth0 up
        ip -n box route add default via 172.30.0.1
        echo 1 >/proc/sys/net/ipv4/ip_forward
        echo 1 >/proc/sys/net/ipv4/conf/metadata/proxy_arp
        """,
    )
    base = "http://169.254.169.254/latest"
    token = f"curl -s -m 2 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' {base}/api/token"
    found = []
    for limit in (2, 1):
        cloud.ec2.modify_instance_metadata_options(
            InstanceId=cloud.instance("client-2").instance_id, HttpPutResponseHopLimit=limit
        )
        inside = cloud.run("client-2", f"ip netns exec box {token} || echo timeout $?")
        assert len(cloud.run("client-2", token)) > 40, "the instance itself is no hop further away"
        found.append(inside.strip())
    assert len(found[0]) > 40
    assert found[1] == "timeout 28"


def test_a_volume_appears_in_its_instance_alone_before_the_call_returns(cloud: Cloud, volume: str) -> None:
    link = cloud.attach(volume, "client-1")
    assert cloud.run("client-1", f"blockdev --getsize64 {link}").strip() == str(1 << 30)
    assert cloud.run("client-2", "ls /dev/disk/by-id") == ""
    attachment = cloud.describe(volume)["Attachments"][0]
    assert (attachment["State"], attachment["Device"], attachment["DeleteOnTermination"]) == (
        "attached",
        "/dev/xvdba",
        False,
    )
    cloud.ec2.detach_volume(VolumeId=volume)
    assert cloud.describe(volume)["State"] == "available"
    assert cloud.run("client-1", "ls /dev/disk/by-id; ls /dev | grep loop || true") == ""
    assert not loops.devices_under(cloud.settings.home)


def test_a_detached_volume_carries_its_bytes_to_another_instance(cloud: Cloud, volume: str) -> None:
    link = cloud.attach(volume, "client-1")
    cloud.run("client-1", f"{on(link)}; echo kept >/mnt/v/f; umount /mnt/v")
    cloud.ec2.detach_volume(VolumeId=volume)
    link = cloud.attach(volume, "client-2")
    assert cloud.run("client-2", f"mkdir -p /mnt/v; mount {link} /mnt/v; cat /mnt/v/f; umount /mnt/v") == "kept\n"


def test_detaching_a_mounted_volume_stays_busy_until_it_is_unmounted(cloud: Cloud, volume: str) -> None:
    link = cloud.attach(volume, "client-1")
    cloud.run("client-1", f"{on(link)}")
    calls = Calls(cloud.settings.log_dir / CALL_LOG)
    cloud.ec2.detach_volume(VolumeId=volume)
    assert cloud.describe(volume)["Attachments"][0]["State"] == "busy"
    (told,) = detached_while_mounted(calls.read())
    assert f"detached {volume} from " in told
    assert told.endswith("mounted at /mnt/v")
    assert refused(cloud.ec2.delete_volume, VolumeId=volume) == "VolumeInUse"
    assert cloud.run("client-1", "echo still here >/mnt/v/f; cat /mnt/v/f") == "still here\n"
    cloud.run("client-1", "umount /mnt/v")
    until(lambda: cloud.describe(volume)["State"] == "available")
    calls = Calls(cloud.settings.log_dir / CALL_LOG)
    cloud.attach(volume, "client-1")
    cloud.ec2.detach_volume(VolumeId=volume)
    assert detached_while_mounted(calls.read()) == []


def test_force_takes_a_mounted_volume_away(cloud: Cloud, volume: str) -> None:
    link = cloud.attach(volume, "client-1")
    cloud.run("client-1", f"{on(link)}")
    words = [*enter("client-1", cloud.settings), "sh", "-c", "exec 3>/mnt/v/f; echo open; exec sleep 1000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as user:
        assert user.stdout is not None
        user.stdout.readline()
        try:
            cloud.ec2.detach_volume(VolumeId=volume, Force=True)
            assert cloud.describe(volume)["State"] == "available"
            assert user.wait(10) != 0
        finally:
            user.kill()
    assert "/mnt/v" not in cloud.run("client-1", "cat /proc/mounts")


def test_attaching_follows_the_rules_of_ec2(cloud: Cloud, volume: str) -> None:
    def attach(volume_id: str, name: str, device: str = "/dev/xvdba") -> str:
        instance_id = cloud.instance(name).instance_id
        return refused(cloud.ec2.attach_volume, VolumeId=volume_id, InstanceId=instance_id, Device=device)

    assert attach(volume, "client-3") == "InvalidVolume.ZoneMismatch"
    assert attach(volume, "client-1", "/dev/nvme9") == "InvalidParameterValue"
    assert attach("vol-0123456789abcdef0", "client-1") == "InvalidVolume.NotFound"
    cloud.attach(volume, "client-1")
    assert attach(volume, "client-2") == "VolumeInUse"
    other = cloud.volume()
    assert attach(other, "client-1") == "InvalidParameterValue"
    cloud.ec2.delete_volume(VolumeId=other)
    assert refused(cloud.ec2.delete_volume, VolumeId=volume) == "VolumeInUse"
    assert refused(cloud.ec2.detach_volume, VolumeId=volume, InstanceId=cloud.instance("client-2").instance_id) == (
        "InvalidAttachment.NotFound"
    )
    cloud.ec2.detach_volume(VolumeId=volume)
    assert refused(cloud.ec2.detach_volume, VolumeId=volume) == "IncorrectState"


def test_a_bad_volume_is_refused(cloud: Cloud) -> None:
    create = cloud.ec2.create_volume
    assert refused(create, AvailabilityZone="us-west-2z", Size=1) == "InvalidZone.NotFound"
    assert refused(create, AvailabilityZone="us-west-2a", Size=16385, VolumeType="gp3") == "InvalidParameterValue"
    assert refused(create, AvailabilityZone="us-west-2a", Size=1, VolumeType="gp3", Iops=99) == "InvalidParameterValue"


def test_an_encrypted_volume_is_recorded_as_such(cloud: Cloud) -> None:
    volume_id = cloud.volume(Encrypted=True)
    described = cloud.describe(volume_id)
    assert described["Encrypted"]
    assert (described["Iops"], described["Throughput"]) == (3000, 125)
    cloud.ec2.delete_volume(VolumeId=volume_id)
    assert not (cloud.settings.volume_dir / f"{volume_id}.img").exists()


def test_a_mounted_volume_grows_and_never_shrinks(cloud: Cloud, volume: str) -> None:
    link = cloud.attach(volume, "client-1")
    cloud.run("client-1", f"{on(link)}")
    cloud.ec2.modify_volume(VolumeId=volume, Size=2)
    assert cloud.run("client-1", f"blockdev --getsize64 {link}").strip() == str(2 << 30)
    assert refused(cloud.ec2.modify_volume, VolumeId=volume, Size=1) == "InvalidParameterValue"
    cloud.run("client-1", "umount /mnt/v")


def test_a_volume_from_a_snapshot_starts_with_its_bytes(cloud: Cloud, volume: str) -> None:
    link = cloud.attach(volume, "client-1")
    cloud.run("client-1", f"{on(link)}; echo old >/mnt/v/f; sync")
    snapshot_id = cloud.ec2.create_snapshot(VolumeId=volume)["SnapshotId"]
    cloud.run("client-1", "echo new >/mnt/v/f")
    copy = cloud.volume(SnapshotId=snapshot_id)
    link = cloud.attach(copy, "client-2", "/dev/xvdbb")
    assert cloud.run("client-2", f"mkdir -p /mnt/v; mount {link} /mnt/v; cat /mnt/v/f; umount /mnt/v") == "old\n"
    cloud.run("client-1", "umount /mnt/v")
    cloud.ec2.detach_volume(VolumeId=copy)
    cloud.ec2.delete_volume(VolumeId=copy)
    cloud.ec2.delete_snapshot(SnapshotId=snapshot_id)


def test_a_snapshot_is_what_a_loss_of_power_would_leave(cloud: Cloud, volume: str) -> None:
    """EBS copies blocks that were written: it knows neither the file system nor what the instance's memory has."""
    link = cloud.attach(volume, "client-1")
    # Only what was synced is on the disk; the rest is in memory for seconds.
    script = "echo kept >/mnt/v/synced; sync /mnt/v/synced /mnt/v; sync; echo lost >/mnt/v/cached; cat /mnt/v/cached"
    assert cloud.run("client-1", f"{on(link)}; {script}") == "lost\n"
    snapshot_id = cloud.ec2.create_snapshot(VolumeId=volume)["SnapshotId"]
    # Its processes go on, and have what they had.
    assert cloud.run("client-1", "cat /mnt/v/cached; umount /mnt/v") == "lost\n"
    copy = cloud.volume(SnapshotId=snapshot_id)
    link = cloud.attach(copy, "client-2", "/dev/xvdbb")
    read = "cat /mnt/v/synced; test ! -s /mnt/v/cached; umount /mnt/v"
    assert cloud.run("client-2", f"mkdir -p /mnt/v; mount {link} /mnt/v; {read}") == "kept\n"
    cloud.ec2.detach_volume(VolumeId=copy)
    cloud.ec2.delete_volume(VolumeId=copy)
    cloud.ec2.delete_snapshot(SnapshotId=snapshot_id)


def test_volumes_are_described_in_one_page(cloud: Cloud) -> None:
    made = {cloud.volume() for _ in range(10)}
    try:
        described = cloud.ec2.describe_volumes()
        assert made <= {volume["VolumeId"] for volume in described["Volumes"]}
        assert "NextToken" not in described
    finally:
        for volume_id in made:
            cloud.ec2.delete_volume(VolumeId=volume_id)


def test_stop_and_start_keep_the_disk_and_the_attached_volume(cloud: Cloud, volume: str) -> None:
    instance_id = cloud.instance("client-2").instance_id
    link = cloud.attach(volume, "client-2")
    cloud.run("client-2", f"{on(link)}; echo kept >/mnt/v/f")
    cloud.ec2.stop_instances(InstanceIds=[instance_id])
    until(lambda: cloud.state("client-2") == "stopped")
    assert "shutting down" in (cloud.settings.log_dir / "client-2.log").read_text()
    assert cloud.describe(volume)["Attachments"][0]["State"] == "attached"
    assert not loops.devices_under(cloud.settings.home)
    cloud.ec2.start_instances(InstanceIds=[instance_id])
    assert cloud.state("client-2") == "running"
    assert cloud.run("client-2", f"mount {link} /mnt/v; cat /mnt/v/f; umount /mnt/v") == "kept\n"


def test_an_instance_that_is_stopped_stops_its_services_first(cloud: Cloud) -> None:
    script = "#!/bin/sh\\nsleep 0.2; touch /mnt/stopped\\n"
    cloud.run("client-2", f"mkdir -p /mnt/etc; printf '{script}' >/mnt/etc/shutdown; chmod 755 /mnt/etc/shutdown")
    instance_id = cloud.instance("client-2").instance_id
    cloud.ec2.stop_instances(InstanceIds=[instance_id])
    until(lambda: cloud.state("client-2") == "stopped")
    cloud.ec2.start_instances(InstanceIds=[instance_id])
    assert cloud.run("client-2", "ls /mnt/stopped; rm /mnt/stopped /mnt/etc/shutdown") == "/mnt/stopped\n"


def test_an_instance_is_told_of_its_end(cloud: Cloud) -> None:
    base = "http://169.254.169.254/latest"
    read = f"""token=$(curl -fsX PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' {base}/api/token)
    curl -fsH "X-aws-ec2-metadata-token: $token" {base}/meta-data/autoscaling/target-lifecycle-state || echo none"""
    instance_id = cloud.instance("client-2").instance_id
    assert cloud.run("client-2", read) == "none\n"
    notices.give(cloud.settings, instance_id, "lifecycle", 600)
    assert cloud.run("client-2", read) == "Terminated"
    notices.take_back(cloud.settings, instance_id)
    assert cloud.run("client-2", read) == "none\n"


def test_a_dead_instance_goes_on_being_called_running_until_it_is_rebooted(cloud: Cloud, volume: str) -> None:
    instance_id = cloud.instance("client-1").instance_id
    link = cloud.attach(volume, "client-1")
    cloud.run("client-1", f"{on(link)}")
    kill(cloud.settings, "client-1")
    assert cloud.state("client-1") == "running"
    assert cloud.describe(volume)["Attachments"][0]["State"] == "attached"
    cloud.ec2.detach_volume(VolumeId=volume)
    until(lambda: cloud.describe(volume)["State"] == "available")
    cloud.ec2.reboot_instances(InstanceIds=[instance_id])
    until(lambda: inventory.find(cloud.settings, "client-1").alive)


def test_seeding_brings_back_a_dead_instance(cloud: Cloud) -> None:
    kill(cloud.settings, "client-2")
    assert seed(cloud.settings, lambda spec, ip: "", *cloud.key).changed
    assert inventory.find(cloud.settings, "client-2").alive


def test_a_cut_instance_cannot_be_reached_until_it_is_healed(cloud: Cloud) -> None:
    probe = f"curl -s -o /dev/null -m 1 {cloud.settings.ec2_url}/ && echo yes || echo no"
    assert cloud.run("client-3", probe) == "yes\n"
    link_down(cloud.settings, "client-3")
    assert cloud.run("client-3", probe) == "no\n"
    link_up(cloud.settings, "client-3")
    until(lambda: cloud.run("client-3", probe) == "yes\n")


def test_terminating_makes_volumes_available_and_leaves_nothing(cloud: Cloud) -> None:
    volume_id = cloud.volume("us-west-2b")
    instance = cloud.instance("client-3")
    link = cloud.attach(volume_id, "client-3")
    cloud.run("client-3", f"{on(link)}")
    cloud.ec2.terminate_instances(InstanceIds=[instance.instance_id])
    until(lambda: cloud.state("client-3") == "terminated")
    assert cloud.describe(volume_id)["State"] == "available"
    assert not (cloud.settings.instance_dir / instance.instance_id).exists()
    assert control_groups_of(cloud.settings, f"/{instance.instance_id}") == []
    cloud.ec2.delete_volume(VolumeId=volume_id)
    cloud.seeded = seed(cloud.settings, lambda spec, ip: "exec sleep 100000", *cloud.key)
    assert cloud.seeded.changed
    assert cloud.instance("client-3").instance_id != instance.instance_id


def test_a_killed_daemon_leaves_nothing_that_cleanup_does_not_clear(
    cloud: Cloud, place: tuple[SandboxSettings, Path]
) -> None:
    settings, table = place
    volume_id = cloud.volume()
    link = cloud.attach(volume_id, "client-1")
    cloud.run("client-1", f"{on(link)}")
    cloud.process.kill()
    cloud.process.wait()
    said = cleanup(settings)
    assert any("3 instances (client-1, client-2, client-3)" in sentence for sentence in said)
    assert leftovers(settings) == []
    assert cleanup(settings) == []
    shutil.rmtree(settings.home)
    process = start_daemon(settings, table)
    process.terminate()
    assert process.wait(30) == 0
    assert leftovers(settings) == []


def test_a_subnet_that_the_machine_already_reaches_is_refused_by_name(place: tuple[SandboxSettings, Path]) -> None:
    settings, table = place
    subprocess.run(["ip", "link", "add", "nstother", "type", "bridge"], check=True)
    try:
        subprocess.run(
            ["ip", "address", "add", f"{settings.subnet.network_address + 77}/28", "dev", "nstother"], check=True
        )
        subprocess.run(["ip", "link", "set", "nstother", "up"], check=True)
        env = {**os.environ, "NOMAD_STATEFUL_SANDBOX_CONFIG": str(table), "PYTHONPATH": str(PROJECT)}
        env["NOMAD_STATEFUL_SANDBOX_HOME"] = str(settings.home)
        done = subprocess.run(
            [sys.executable, "-m", "sandbox.cloud"], env=env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 1
        assert f"{settings.subnet.network_address + 64}/28 through nstother" in done.stderr
        assert "Traceback" not in done.stderr
    finally:
        subprocess.run(["ip", "link", "delete", "nstother"], check=True)
