"""docs/runbook.md, "Pulumi was killed": what the engine says of what a kill left, and what cures it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.providers.engine_stack import Stack
from tools import toolchain

pytestmark = pytest.mark.engine


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    """An empty one: no program runs for these commands."""
    toolchain.ensure()
    return Stack(tmp_path, program="")


def pending(stack: Stack) -> list[Any]:
    exported = json.loads(stack.run("stack", "export"))
    return list(exported["deployment"].get("pending_operations") or [])


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
    assert len(pending(stack)) == 1
    told = stack.run("up", "--yes", "--skip-preview")
    assert "with 1 pending operations" in told
    assert "ebs-mysql-us-west-2a, interrupted while creating" in told
    stack.run("refresh", "--yes", "--skip-preview")
    assert len(pending(stack)) == 1, "without a terminal nobody was asked"
    stack.run("refresh", "--yes", "--skip-preview", "--clear-pending-creates")
    assert pending(stack) == []
