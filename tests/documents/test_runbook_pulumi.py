"""docs/runbook.md, "Pulumi was killed": what the engine says of what a kill left, and what cures it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools import toolchain

pytestmark = pytest.mark.engine


class Stack:
    """The pulumi command on an empty stack with its state in a folder; no program runs for these commands."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self._project = folder / "project"
        for made in (self.state, self._project, folder / "home"):
            made.mkdir()
        (self._project / "Pulumi.yaml").write_text(
            f"name: trial\nruntime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}\n"
        )
        (self._project / "__main__.py").write_text("")
        bin_dir = toolchain.ensure().bin_dir
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "NOMAD_", "PULUMI_"))}
        self._env = kept | {
            "PATH": f"{bin_dir}:{os.environ['PATH']}",
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{self.state}",
            "PULUMI_CONFIG_PASSPHRASE": "trial",
            "PULUMI_SKIP_UPDATE_CHECK": "1",
        }
        self.run("stack", "init", "dev")

    def run(self, *words: str, fails: bool = False) -> str:
        """One command's output, both streams."""
        done = subprocess.run(
            ["pulumi", "--non-interactive", *words],
            cwd=self._project,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout
        return done.stdout

    def pending(self) -> list[Any]:
        exported = json.loads(self.run("stack", "export"))
        return list(exported["deployment"].get("pending_operations") or [])


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    return Stack(tmp_path)


def test_a_lock_that_a_killed_pulumi_left_is_removed_by_cancel(stack: Stack) -> None:
    left = stack.state / ".pulumi/locks/organization/trial/dev/8f3c2a1b-0000-4000-8000-000000000000.json"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_text(
        json.dumps({"pid": 2**22 + 1, "username": "root", "hostname": "here", "timestamp": "2026-11-22T10:00:00Z"})
    )
    assert "the stack is currently locked" in stack.run("refresh", "--yes", "--skip-preview", fails=True)
    assert left.exists()
    stack.run("cancel", "--yes", "dev")
    stack.run("refresh", "--yes", "--skip-preview")


def test_an_interrupted_create_is_told_by_every_up_until_it_is_cleared(stack: Stack) -> None:
    stack.run("refresh", "--yes", "--skip-preview")
    urn = "urn:pulumi:dev::trial::aws:ebs/volume:Volume::ebs-mysql-us-west-2a"
    resource = {"urn": urn, "custom": True, "type": "aws:ebs/volume:Volume"}
    # `pulumi stack import` would take them out.
    kept = stack.state / ".pulumi/stacks/trial/dev.json"
    state = json.loads(kept.read_text())
    state["checkpoint"]["latest"]["pending_operations"] = [{"resource": resource, "type": "creating"}]
    kept.write_text(json.dumps(state))
    assert len(stack.pending()) == 1
    told = stack.run("up", "--yes", "--skip-preview")
    assert "with 1 pending operations" in told
    assert "ebs-mysql-us-west-2a, interrupted while creating" in told
    stack.run("refresh", "--yes", "--skip-preview")
    assert len(stack.pending()) == 1, "without a terminal nobody was asked"
    stack.run("refresh", "--yes", "--skip-preview", "--clear-pending-creates")
    assert stack.pending() == []
