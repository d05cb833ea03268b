"""The plugin under the real Pulumi engine, with its Python classes, against a fake Nomad."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.fake_nomad import FakeNomad
from tests.providers.engine_stack import Stack
from tests.providers.nomad_csi.conftest import EXECUTABLE
from tests.providers.nomad_csi.test_plugin_health import plugin_body
from tests.providers.nomad_csi.test_volume_release import FREE, claimed
from tests.providers.plugin_path import PROJECT
from tools.trial.running import eventually

pytestmark = pytest.mark.engine

PROGRAM = """
import pulumi
from nomad_stateful.sdk import GeneratedSecret, PluginHealth, VolumeRelease, get_cluster

config = pulumi.Config()
secret = GeneratedSecret("password", length=24, keepers={"Some_Key": config.get("keeper") or "1"})
health = PluginHealth(
    "health", plugin_id="ebs", controllers=1, zones=["a"], zone_keys=["zone"], timeout_s=5, triggers={"my_job": "1"}
)
release = VolumeRelease("release", volume_id="mysql", backend="none", registration_id=secret.id, timeout_s=20)
pulumi.export("version", get_cluster().version)
pulumi.export("zones", health.zones_healthy)
pulumi.export("topology_key", health.topology_key)
pulumi.export("release", release.release_id)
pulumi.export("password", secret.result)
pulumi.export("keepers", secret.keepers)
"""


@pytest.fixture
def stack(tmp_path: Path, nomad: FakeNomad) -> Stack:
    nomad.put("nodes", [])
    server = {"Name": "s", "Status": "alive", "Tags": {"build": "1.11.3", "region": "global"}}
    nomad.put("agent/members", {"ServerRegion": "global", "Members": [server]})
    nomad.put("plugin/csi/ebs", plugin_body(["a"]))
    env = {"PYTHONPATH": str(PROJECT), "NOMAD_ADDR": nomad.address}
    return Stack(tmp_path, PROGRAM, {"nomad-csi": EXECUTABLE}, env)


def _release(nomad: FakeNomad, path: str) -> None:
    """Frees a volume once someone has been told that it is claimed, and has asked again."""
    asked = nomad.requested("GET").count(path)
    eventually(lambda: nomad.requested("GET").count(path) > asked + 1 or None, 120, f"{path} is waited for")
    nomad.put(path, FREE)


def test_up_empty_preview_replacement_and_a_destroy_that_waits(stack: Stack, nomad: FakeNomad) -> None:
    stack.run("up", "--yes", "--skip-preview")
    first = stack.outputs()
    assert (first["version"], first["zones"], first["topology_key"]) == ("1.11.3", {"a": 1}, "zone")
    assert first["keepers"] == {"Some_Key": "1"}, "keys of maps are the user's"
    assert len(first["password"]) == 24
    exported = stack.run("stack", "export")
    assert first["password"] not in exported
    own = [one for one in json.loads(exported)["deployment"]["resources"] if one["type"].startswith("nomad-csi:")]
    assert {one["sourcePosition"].split("#")[0] for one in own} == {"project:///__main__.py"}
    stack.run("preview", "--expect-no-changes")
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")

    stack.run("config", "set", "keeper", "2")
    stack.run("up", "--yes", "--skip-preview")
    second = stack.outputs()
    assert second["password"] != first["password"]
    assert second["release"] != first["release"], "a new registration has a new release"

    nomad.put("volume/csi/mysql", claimed())
    releasing = threading.Thread(target=_release, args=(nomad, "volume/csi/mysql"))
    releasing.start()
    assert "waiting until volume mysql is released by allocation 8f3c2a1b" in stack.run("destroy", "--yes")
    releasing.join()
    assert json.loads(stack.run("stack", "export"))["deployment"].get("resources") is None


def test_a_replacement_that_was_cut_off_does_not_stop_the_job_that_its_successor_started(
    stack: Stack, nomad: FakeNomad
) -> None:
    """The engine knows that the gate was deleted, and the registration that replaced it has the old one's id."""
    stack.run("up", "--yes", "--skip-preview")
    first = stack.outputs()["release"]
    exported = json.loads(stack.run("stack", "export"))
    [gate] = [one for one in exported["deployment"]["resources"] if one["type"].endswith(":VolumeRelease")]
    gate["pendingReplacement"] = True
    stack.run("stack", "import", "--file", stack.file("cut-off.json", json.dumps(exported)))
    nomad.put("volume/csi/mysql", claimed())
    told = stack.run("up", "--yes", "--skip-preview")
    assert stack.outputs()["release"] != first
    assert "waiting until volume mysql is released" not in told
    nomad.put("volume/csi/mysql", FREE)
    stack.run("preview", "--expect-no-changes")


def test_an_unhealthy_plugin_fails_the_update_with_the_reason_and_leaves_nothing_of_itself(
    stack: Stack, nomad: FakeNomad
) -> None:
    nomad.put("plugin/csi/ebs", plugin_body([]))
    nomad.put("jobs", [])
    told = stack.run("up", "--yes", "--skip-preview", fails=True)
    assert "CSI plugin ebs is not healthy after 5 s: no healthy node plugin in a" in told
    assert "Traceback" not in told
    assert "PluginHealth" not in stack.run("stack", "export")
    nomad.put("plugin/csi/ebs", plugin_body(["a"]))
    stack.run("up", "--yes", "--skip-preview")
