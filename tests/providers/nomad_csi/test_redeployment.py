"""JobHealth on a real Nomad: what a failed deployment left is deployed again once its cause is gone."""

import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.providers.harness import Failed, PluginProcess, plugin_process
from tests.providers.nomad.agent import Agent
from tests.providers.nomad_csi.conftest import EXECUTABLE

TYPE = "nomad-csi:index:JobHealth"


@pytest.fixture
def health(agent: Agent) -> Iterator[PluginProcess]:
    with plugin_process(EXECUTABLE, {"NOMAD_ADDR": agent.address}) as process:
        process.configure()
        yield process


@pytest.fixture
def name() -> str:
    return f"t-{uuid.uuid4().hex[:8]}"


def submit(agent: Agent, name: str, cause: Path, count: int = 1) -> None:
    """A service that runs as long as `cause` exists when it starts, and else fails for good."""
    task = {
        "Name": "main",
        "Driver": "raw_exec",
        "Config": {"command": "/bin/sh", "args": ["-c", f"test -e {cause} && exec sleep 3600; exit 3"]},
        "Resources": {"CPU": 20, "MemoryMB": 20},
        "KillTimeout": 10**9,
    }
    second = 10**9
    update = {
        "MaxParallel": 1,
        "MinHealthyTime": second,
        "HealthyDeadline": 3 * second,
        "ProgressDeadline": 4 * second,
    }
    group = {
        "Name": "main",
        "Count": count,
        "Tasks": [task],
        "Update": update,
        "RestartPolicy": {"Attempts": 0, "Mode": "fail"},
        "ReschedulePolicy": {"Unlimited": True, "Delay": 600 * second, "DelayFunction": "constant"},
    }
    job = {"ID": name, "Name": name, "Type": "service", "Datacenters": ["*"], "TaskGroups": [group]}
    agent.api.put("jobs", {"Job": job})


def inputs(name: str, timeout_s: int = 60) -> dict[str, Any]:
    return {"jobId": name, "namespace": "default", "group": "main", "triggers": {}, "timeoutS": timeout_s}


def test_the_same_command_again_deploys_once_the_cause_is_gone(
    agent: Agent, health: PluginProcess, name: str, tmp_path: Path
) -> None:
    cause = tmp_path / "there"
    submit(agent, name, cause)
    started = time.monotonic()
    with pytest.raises(Failed, match="has no healthy allocation after") as failed:
        health.create(TYPE, inputs(name))
    assert time.monotonic() - started < 40, "the deployment fails after 4 s: nothing is left to wait for"
    assert "fix the cause, and run the same command again" in str(failed.value)
    with pytest.raises(Failed, match="has no healthy allocation after"):
        health.create(TYPE, inputs(name))
    cause.touch()
    made = health.create(TYPE, inputs(name))
    assert made["allocationId"] in [item["ID"] for item in agent.allocations(name) if item["JobVersion"] == 2]
    versions = agent.api.get(f"job/{name}/versions")["Versions"]
    assert [version.get("VersionTag") for version in versions] == [None, None, None]
    agent.purge(name)


def test_what_already_runs_goes_on_running(agent: Agent, health: PluginProcess, name: str, tmp_path: Path) -> None:
    cause = tmp_path / "there"
    cause.touch()
    submit(agent, name, cause)
    (before,) = [health.create(TYPE, inputs(name))["allocationId"]]
    # Two of them, of which the second cannot start: the deployment fails, and the first runs on.
    cause.unlink()
    submit(agent, name, cause, count=2)
    with pytest.raises(Failed, match="healthy allocations of 2"):
        health.create(TYPE, inputs(name) | {"allocations": 2})
    cause.touch()
    health.create(TYPE, inputs(name) | {"allocations": 2})
    running = {item["ID"]: item for item in agent.allocations(name) if item["ClientStatus"] == "running"}
    assert len(running) == 2
    assert not any(state["Restarts"] for state in running[before]["TaskStates"].values())
    agent.purge(name)


def test_a_job_that_was_stopped_is_not_started(agent: Agent, health: PluginProcess, name: str, tmp_path: Path) -> None:
    submit(agent, name, tmp_path / "never")
    with pytest.raises(Failed):
        health.create(TYPE, inputs(name))
    agent.api.delete(f"job/{name}")
    version = agent.api.get(f"job/{name}")["Version"]
    with pytest.raises(Failed):
        health.create(TYPE, inputs(name, timeout_s=1))
    assert agent.api.get(f"job/{name}")["Version"] == version
    agent.purge(name)
