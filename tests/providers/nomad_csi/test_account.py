"""The AWS account as the provider's configuration, on the real engine: a new stack, and one of an earlier release.

The environment leads to no AWS: what reaches it does so by the configuration.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.stack.stack_file import read_salt
from tests.fake_nomad import FakeNomad
from tests.providers.engine_stack import Stack
from tests.providers.moto_account import clients, moto
from tests.providers.nomad_csi.conftest import EXECUTABLE, NO_AWS
from tests.providers.nomad_csi.test_job_health import allocation, job
from tests.providers.nomad_csi.test_volume_release import FREE
from tests.providers.plugin_path import PROJECT
from tools.preview_report import document

pytestmark = pytest.mark.engine

EARLIER = Path(__file__).with_name("before_account.json")
KEYS = ("an-earlier-key", "AKIAEARLIER", "a-newer-key", "AKIANEWER")
PROGRAM = """
import pulumi
from nomad_stateful.sdk import GeneratedSecret, JobHealth, Provider, VolumeGuard, VolumeProtection, VolumeRelease

config = pulumi.Config()
volume = config.require("volume")
account = Provider(
    "nomad-csi", aws_region="us-west-2", aws_account_id="123456789012", aws_config=config.require("aws")
)
here = pulumi.ResourceOptions(provider=account)
size = config.get_int("size") or 1
VolumeGuard("guard", volume_name="mysql", zone="us-west-2a", size_gib=size, protect=False, opts=here)
VolumeProtection("protection", volume_name="mysql", volume_id=volume, opts=here)
VolumeRelease("release", volume_id="mysql", external_id=volume, opts=here)
JobHealth("health", job_id="db", group="g", opts=here)
GeneratedSecret("password", opts=here)
"""


@dataclass
class World:
    """A stack, a Nomad and an AWS that only the configuration leads to."""

    stack: Stack
    project: Path
    url: str
    volume_id: str
    ec2: Any

    def configure(self, access_key: str, secret_key: str, size: int = 1) -> None:
        endpoints = [{"ec2": self.url, "sts": self.url}]
        aws = json.dumps({"accessKey": access_key, "secretKey": secret_key, "endpoints": endpoints})
        self.stack.configure({"trial:volume": self.volume_id, "trial:aws": aws, "trial:size": size})

    def import_earlier(self) -> None:
        """Makes the stack one that an earlier release has made, with keys in every resource's inputs."""
        text = EARLIER.read_text().replace("http://moto", self.url).replace("vol-0123456789abcdef0", self.volume_id)
        state = json.loads(text)
        salt = read_salt(self.project / "Pulumi.dev.yaml")
        state["deployment"]["secrets_providers"] = {"type": "passphrase", "state": {"salt": salt}}
        self.stack.run("stack", "import", "--file", self.stack.file("state.json", json.dumps(state)))

    def changes(self) -> list[str]:
        """What an update would do."""
        printed = self.stack.run("preview", "--json")
        steps = document.parse(printed[printed.index("{") :]).steps
        return sorted(f"{step.operation} {step.name}" for step in steps if step.operation not in ("same", "read"))

    def assert_no_key_in_clear(self) -> None:
        state = self.stack.run("stack", "export")
        assert "awsConfig" in state
        assert not [key for key in KEYS if key in state]

    def assert_destroys(self) -> None:
        self.stack.run("destroy", "--yes", "--skip-preview")
        [snapshot] = self.ec2.describe_snapshots(Filters=[{"Name": "volume-id", "Values": [self.volume_id]}])[
            "Snapshots"
        ]
        assert snapshot["VolumeSize"] == 1


@pytest.fixture
def world(tmp_path: Path, nomad: FakeNomad) -> Iterator[World]:
    nomad.put("job/db", job(0))
    nomad.put("job/db/allocations", [allocation("a1", 0)])
    nomad.put("volume/csi/mysql", FREE)
    with moto() as url:
        ec2 = clients(url).ec2
        volume_id = ec2.create_volume(AvailabilityZone="us-west-2a", Size=1)["VolumeId"]
        env = {"PYTHONPATH": str(PROJECT), "NOMAD_ADDR": nomad.address, **NO_AWS}
        stack = Stack(tmp_path, PROGRAM, {"nomad-csi": EXECUTABLE}, env)
        made = World(stack, tmp_path / "project", url, volume_id, ec2)
        made.configure("AKIAEARLIER", "an-earlier-key")
        yield made


def test_an_upgrade_makes_the_provider_and_other_credentials_change_it_alone(world: World) -> None:
    world.import_earlier()
    assert world.changes() == ["create nomad-csi"]
    world.stack.run("up", "--yes", "--skip-preview")
    world.assert_no_key_in_clear()
    world.stack.run("preview", "--expect-no-changes")

    world.configure("AKIANEWER", "a-newer-key")
    assert world.changes() == ["update nomad-csi"]
    world.stack.run("up", "--yes", "--skip-preview")
    world.assert_no_key_in_clear()
    world.stack.run("preview", "--expect-no-changes")
    world.stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    world.configure("AKIANEWER", "a-newer-key", size=2)
    assert world.changes() == ["update guard"]
    world.stack.run("up", "--yes", "--skip-preview")
    world.assert_no_key_in_clear()
    world.assert_destroys()


def test_what_an_earlier_release_made_is_destroyed_with_the_credentials_in_its_state(world: World) -> None:
    world.import_earlier()
    world.assert_destroys()


def test_a_new_stack_remembers_its_account(world: World) -> None:
    world.stack.run("up", "--yes", "--skip-preview")
    world.assert_no_key_in_clear()
    world.stack.run("preview", "--expect-no-changes")
    resources = json.loads(world.stack.run("stack", "export"))["deployment"]["resources"]
    remembered = {
        one["type"].rsplit(":", 1)[1]: (
            one["outputs"]["region"],
            one["outputs"]["accountId"],
            one["outputs"]["awsConfig"],
        )
        for one in resources
        if "accountId" in one.get("outputs", {}) and "JobHealth" not in one["type"]
    }
    here = ("us-west-2", "123456789012", None)
    assert remembered == dict.fromkeys(("VolumeGuard", "VolumeProtection", "VolumeRelease"), here)
    world.assert_destroys()
