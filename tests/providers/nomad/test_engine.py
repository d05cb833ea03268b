"""A program that uses the official SDK, on the real Pulumi engine, with this plugin in the official one's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.providers.engine_stack import Stack
from tests.providers.nomad.agent import Agent

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


def test_a_stack_lives_through_up_update_drift_and_destroy(tmp_path: Path, executable: Path, agent: Agent) -> None:
    stack = Stack(tmp_path, PROGRAM, {"nomad": executable}, {"NOMAD_ADDR": agent.address})
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
