"""The components of the plugin, as programs in Python and in other languages have them, on the real Pulumi engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from moto.ec2.models import ec2_backends

from tests.providers.moto_account import ACCOUNT
from tests.providers.test_no_replacement import PROGRAM, in_an_account

pytestmark = pytest.mark.engine

# What an SDK of another language does: the engine has the plugin make the component.
REMOTE = f"""
import pulumi

class ZonalVolumes(pulumi.ComponentResource):
    def __init__(self, name, **inputs):
        super().__init__("nomad-csi:index:ZonalVolumes", name, inputs | {{"volumeIds": None}}, None, remote=True)

volumes = ZonalVolumes(
    "ebs",
    volumes=[{{"name": "plain", "zone": "us-west-2a", "sizeGib": pulumi.Output.from_input(1), "protect": False}}],
    driverTags={{}},
    region="us-west-2",
    accountId="{ACCOUNT}",
)
pulumi.export("ids", pulumi.get(volumes, "volumeIds"))
"""


@pytest.mark.parametrize("program", [PROGRAM, REMOTE], ids=["python", "another-language"])
def test_a_component_of_the_earlier_package_goes_on_without_a_change(tmp_path: Path, program: str) -> None:
    with in_an_account(tmp_path, program) as stack:
        stack.run("up", "--yes", "--skip-preview")
        made = ec2_backends[ACCOUNT]["us-west-2"].volumes
        assert set(stack.outputs()["ids"].values()) == set(made)
        state = stack.run("stack", "export")
        assert "nomad-csi:index:ZonalVolumes::ebs" in state
        earlier = stack.file("earlier.json", state.replace("nomad-csi:index:Zonal", "nomad-stateful:index:Zonal"))
        stack.run("stack", "import", "--file", earlier)
        stack.run("up", "--yes", "--skip-preview", "--expect-no-changes")
        types = [one["type"] for one in json.loads(stack.run("stack", "export"))["deployment"]["resources"]]
        assert "nomad-csi:index:ZonalVolumes" in types
        assert not any(one.startswith("nomad-stateful:") for one in types)


def test_a_component_that_cannot_be_made_ends_the_update_with_the_reason(tmp_path: Path) -> None:
    with in_an_account(tmp_path, REMOTE.replace("driverTags={},", "")) as stack:
        assert "Missing required input 'driverTags' on 'ZonalVolumes'" in stack.run("preview", fails=True)
