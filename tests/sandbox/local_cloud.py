"""A local cloud of its own for a test: its daemon, its instances, and commands inside of them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError

from sandbox.cloud import enter
from sandbox.cloud.credentials import aws_credentials
from sandbox.cloud.seed import Seed, SeededInstance, seed
from sandbox.machine import naming
from sandbox.machine.cleanup import cleanup
from sandbox.settings import PROJECT, SandboxSettings, parse_settings
from tools.trial.ground import claim


class Cloud:
    """A running cloud, its settings and a client of its API."""

    def __init__(self, settings: SandboxSettings, process: subprocess.Popen[bytes]) -> None:
        self.settings = settings
        self.process = process
        self.key = astuple(aws_credentials(settings))
        self.session = boto3.Session(self.key[0], self.key[1], region_name=settings.region)
        self.ec2 = self.client("ec2")
        self.sts = self.client("sts")
        self.seeded: Seed = seed(settings, lambda spec, ip: f"echo up {spec.name} {ip}\nexec sleep 100000\n", *self.key)

    def client(self, service: Any) -> Any:
        """Returns a client of another service, with the owner's key."""
        return self.session.client(service, endpoint_url=self.settings.ec2_url)

    def instance(self, name: str) -> SeededInstance:
        return next(one for one in self.seeded.instances if one.name == name)

    def run(self, name: str, script: str) -> str:
        words = [*enter(name, self.settings), "sh", "-ec", script]
        return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout

    def volume(self, zone: str = "us-west-2a", **options: Any) -> str:
        options = {"Size": 1, "VolumeType": "gp3", **options}
        return str(self.ec2.create_volume(AvailabilityZone=zone, **options)["VolumeId"])

    def attach(self, volume_id: str, name: str, device: str = "/dev/xvdba") -> str:
        """Attaches a volume and returns the path of its link inside the instance."""
        self.ec2.attach_volume(VolumeId=volume_id, InstanceId=self.instance(name).instance_id, Device=device)
        return f"/dev/disk/by-id/{naming.by_id_name(volume_id)}"

    def describe(self, volume_id: str) -> dict[str, Any]:
        return dict(self.ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0])

    def state(self, name: str) -> str:
        found = self.ec2.describe_instances(InstanceIds=[self.instance(name).instance_id])
        return str(found["Reservations"][0]["Instances"][0]["State"]["Name"])


def until(condition: Callable[[], bool], timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.05)


def on(link: str) -> str:
    """Script that formats the disk behind a link and mounts it at /mnt/v."""
    return f"mkfs.ext4 -q {link}; mkdir -p /mnt/v; mount {link} /mnt/v"


def place(folder: Path) -> tuple[SandboxSettings, Path]:
    """Settings of a cloud, and the file that says them to its daemon."""
    table = folder / "sandbox.toml"
    table.write_text(claim().config)
    return parse_settings(tomllib.loads(table.read_text()), folder / "home"), table


@contextlib.contextmanager
def running_cloud(settings: SandboxSettings, table: Path, env: Mapping[str, str] = {}) -> Iterator[Cloud]:
    """A cloud of a place, taken down at the end; `env` is added to its daemon's environment."""
    cleanup(settings)
    process = start_daemon(settings, table, env)
    try:
        yield Cloud(settings, process)
    finally:
        process.terminate()
        process.wait(60)
        cleanup(settings)


@contextlib.contextmanager
def spare_volume(cloud: Cloud) -> Iterator[str]:
    """A volume, taken away at the end wherever it is attached."""
    volume_id = cloud.volume()
    yield volume_id
    with contextlib.suppress(ClientError):
        cloud.ec2.detach_volume(VolumeId=volume_id, Force=True)
    until(lambda: cloud.describe(volume_id)["State"] == "available")
    cloud.ec2.delete_volume(VolumeId=volume_id)


def start_daemon(settings: SandboxSettings, table: Path, env: Mapping[str, str] = {}) -> subprocess.Popen[bytes]:
    whole = {
        **os.environ,
        **env,
        "NOMAD_STATEFUL_SANDBOX_HOME": str(settings.home),
        "NOMAD_STATEFUL_SANDBOX_CONFIG": str(table),
        "PYTHONPATH": str(PROJECT),
    }
    log = settings.home.with_suffix(".log")
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-m", "sandbox.cloud"], env=whole, stdout=output, stderr=output)
    until(lambda: process.poll() is not None or "serving EC2" in log.read_text(), 60)
    assert process.poll() is None, log.read_text()
    return process
