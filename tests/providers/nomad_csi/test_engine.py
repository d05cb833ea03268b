"""The plugin under the real Pulumi engine, with its Python classes, against a fake Nomad."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sandbox import toolchain
from tests.providers.fake_nomad import FakeNomad
from tests.providers.nomad_csi.conftest import EXECUTABLE
from tests.providers.nomad_csi.test_plugin_health import plugin_body
from tests.providers.nomad_csi.test_volume_release import FREE, claimed
from tests.providers.plugin_path import PROJECT
from tests.sandbox.running import eventually

pytestmark = pytest.mark.engine

PROGRAM = """
import pulumi
from provider.sdk import GeneratedSecret, PluginHealth, VolumeRelease, get_cluster

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


class Stack:
    """The pulumi command on a project, state and home of its own."""

    def __init__(self, folder: Path, nomad: FakeNomad) -> None:
        found = toolchain.find()
        if found is None:
            pytest.skip("no Pulumi in the toolchain's cache: run python -m sandbox.toolchain")
        self._project = folder / "project"
        for name in ("project", "state", "home"):
            (folder / name).mkdir()
        (self._project / "__main__.py").write_text(PROGRAM)
        (self._project / "Pulumi.yaml").write_text(
            "name: trial\n"
            f"runtime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}\n"
            f"plugins: {{providers: [{{name: nomad-csi, path: {EXECUTABLE.parent}}}]}}\n"
        )
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "NOMAD_", "PULUMI_"))}
        self._env = kept | {
            "PATH": f"{found.bin_dir}:{os.environ['PATH']}",
            "PYTHONPATH": str(PROJECT),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "trial",
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "NOMAD_STATEFUL_PYTHON": sys.executable,
            "NOMAD_ADDR": nomad.address,
        }

    def run(self, *args: str, check: bool = True) -> str:
        """One command's output, both streams."""
        done = subprocess.run(
            ["pulumi", "--non-interactive", *args],
            cwd=self._project,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout
        return done.stdout

    def outputs(self) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(self.run("stack", "output", "--json", "--show-secrets"))
        return result


@pytest.fixture
def stack(tmp_path: Path, nomad: FakeNomad) -> Stack:
    nomad.put("nodes", [])
    nomad.put("agent/self", {"config": {"Version": {"Version": "1.11.0"}}})
    nomad.put("plugin/csi/ebs", plugin_body(["a"]))
    made = Stack(tmp_path, nomad)
    made.run("stack", "init", "dev")
    return made


def _let_go(nomad: FakeNomad, path: str) -> None:
    """Frees a volume once someone has been told that it is claimed, and has asked again."""
    asked = nomad.requested("GET").count(path)
    eventually(lambda: nomad.requested("GET").count(path) > asked + 1 or None, 120, f"{path} is waited for")
    nomad.put(path, FREE)


def test_up_empty_preview_replacement_and_a_destroy_that_waits(stack: Stack, nomad: FakeNomad) -> None:
    stack.run("up", "--yes", "--skip-preview")
    first = stack.outputs()
    assert (first["version"], first["zones"], first["topology_key"]) == ("1.11.0", {"a": 1}, "zone")
    assert first["keepers"] == {"Some_Key": "1"}, "keys of maps are the user's"
    assert len(first["password"]) == 24
    assert first["password"] not in stack.run("stack", "export")
    stack.run("preview", "--expect-no-changes")
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")

    stack.run("config", "set", "keeper", "2")
    stack.run("up", "--yes", "--skip-preview")
    second = stack.outputs()
    assert second["password"] != first["password"]
    assert second["release"] != first["release"], "a new registration has a new release"

    nomad.put("volume/csi/mysql", claimed())
    let_go = threading.Thread(target=_let_go, args=(nomad, "volume/csi/mysql"))
    let_go.start()
    assert "waiting until volume mysql is let go by allocation 8f3c2a1b" in stack.run("destroy", "--yes")
    let_go.join()
    assert json.loads(stack.run("stack", "export"))["deployment"].get("resources") is None


def test_an_unhealthy_plugin_fails_the_update_with_the_reason_and_leaves_nothing_of_itself(
    stack: Stack, nomad: FakeNomad
) -> None:
    nomad.put("plugin/csi/ebs", plugin_body([]))
    nomad.put("jobs", [])
    told = stack.run("up", "--yes", "--skip-preview", check=False)
    assert "CSI plugin ebs is not healthy after 5 s: no healthy node plugin in a" in told
    assert "Traceback" not in told
    assert "PluginHealth" not in stack.run("stack", "export")
    nomad.put("plugin/csi/ebs", plugin_body(["a"]))
    stack.run("up", "--yes", "--skip-preview")
