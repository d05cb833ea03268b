"""A program that uses the official SDK, on the real Pulumi engine, with this plugin in the official one's place."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sandbox import toolchain
from tests.providers.plugin_path import PROJECT

from .agent import Agent

pytestmark = [pytest.mark.nomad, pytest.mark.engine]

PROGRAM = '''
import json
import pulumi
import pulumi_nomad as nomad

config = pulumi.Config()
spec = """
variable "task" {
  type = object({ args = list(string) })
}
job "engine" {
  group "main" {
    count = %s
    update {
      min_healthy_time = "1s"
    }
    task "main" {
      driver       = "raw_exec"
      kill_timeout = "1s"
      config {
        command = "sleep"
        args    = var.task.args
      }
      resources {
        cpu    = 20
        memory = 20
      }
    }
  }
}
""" % (config.get("count") or "1") + (config.get("remark") or "")
secret = nomad.Variable("secret", path="nomad/jobs/engine", items={"password": "swordfish-7"})
job = nomad.Job(
    "engine",
    jobspec=spec,
    purge_on_destroy=True,
    detach=False,
    hcl2=nomad.JobHcl2Args(vars={"task": json.dumps({"args": ["3600"]})}),
    opts=pulumi.ResourceOptions(depends_on=[secret]),
)
pulumi.export("driver", job.task_groups[0].tasks[0].driver)
'''


class Stack:
    """The pulumi command in a project of its own, with its own home and state."""

    def __init__(self, folder: Path, executable: Path, agent: Agent) -> None:
        found = toolchain.find()
        if found is None:
            pytest.skip("no Pulumi in the toolchain's cache: run python -m sandbox.toolchain")
        self._project = folder / "project"
        for name in ("project", "state", "home"):
            (folder / name).mkdir()
        (self._project / "__main__.py").write_text(PROGRAM)
        (self._project / "Pulumi.yaml").write_text(
            "name: trial\n"
            f"runtime: {{name: python, options: {{virtualenv: {PROJECT / '.venv'}}}}}\n"
            f"plugins: {{providers: [{{name: nomad, path: {executable.parent}}}]}}\n"
        )
        self._env = {
            key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "NOMAD_", "PULUMI_"))
        }
        self._env |= {
            "PATH": f"{found.bin_dir}:{os.environ['PATH']}",
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            "NOMAD_ADDR": agent.address,
        }

    def run(self, *arguments: str) -> str:
        command = ["pulumi", *arguments, "--non-interactive"]
        done = subprocess.run(command, cwd=self._project, env=self._env, capture_output=True, text=True, check=False)
        output = done.stdout + done.stderr
        assert done.returncode == 0, output
        return output


def test_a_stack_lives_through_up_update_drift_and_destroy(tmp_path: Path, executable: Path, agent: Agent) -> None:
    stack = Stack(tmp_path, executable, agent)
    stack.run("stack", "init", "test")
    assert "3 created" in stack.run("up", "--yes")
    assert agent.running("engine")
    stack.run("preview", "--expect-no-changes")
    stack.run("config", "set", "remark", "# only a remark")
    stack.run("preview", "--expect-no-changes")
    assert "swordfish-7" not in stack.run("stack", "export")
    stack.run("config", "set", "count", "2")
    assert "1 updated" in stack.run("up", "--yes")
    stack.run("refresh", "--yes", "--expect-no-changes")
    agent.purge("engine")
    assert "1 deleted" in stack.run("refresh", "--yes")
    assert "1 created" in stack.run("up", "--yes")
    assert "3 deleted" in stack.run("destroy", "--yes")
    assert not [job for job in agent.api.get("jobs") if job["ID"] == "engine"]
