"""What is unknown, and what makes it another job: the same of the official plugin and of the one in its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.plugin_server.values import UNKNOWN
from tests import official_parts
from tests.providers.harness import Failed, PluginProcess, plugin_process
from tests.providers.nomad.agent import Agent
from tests.providers.nomad.jobs import JOB, sleeper
from tools.toolchain.official import take

pytestmark = pytest.mark.nomad

REGISTRATION = "nomad:index/csiVolumeRegistration:CsiVolumeRegistration"
VOLUME = {
    "volumeId": "v",
    "externalId": "e",
    "pluginId": "p",
    "name": "v",
    "capabilities": [{"accessMode": "single-node-writer", "attachmentMode": "file-system"}],
    "deregisterOnDestroy": True,
}


@pytest.fixture(params=["embedded", pytest.param("official", marks=pytest.mark.official(official_parts.NOMAD))])
def either(request: pytest.FixtureRequest, executable: Path, agent: Agent) -> Iterator[PluginProcess]:
    """Each of the two plugins, configured for the agent."""
    program: Path | None = executable
    if request.param == "official":
        folder = official_parts.folder()
        program = take(folder, official_parts.NOMAD, "2.6.1") if folder else None
    assert program is not None
    with plugin_process(program, {}) as process:
        process.configure({"address": agent.address})
        yield process


def text(job_id: str) -> str:
    """A jobspec with the id as an expression, and a variable beside it."""
    declared = 'variable "job" {\n  type = object({ id = string })\n}\nvariable "by" {\n  type = string\n}\n'
    own = f"  id = {job_id}\n  meta {{\n    by = var.by\n  }}\n  group"
    return declared + sleeper("job").replace("  group", own, 1)


def variables(job_id: str, by: Any = "me") -> dict[str, Any]:
    return {"vars": {"job": json.dumps({"id": job_id}), "by": by}}


def inputs(plugin: PluginProcess, **given: Any) -> dict[str, Any]:
    checked = plugin.check(JOB, {"purgeOnDestroy": True, **given})
    assert not checked.failures, checked.reasons
    return checked.inputs.props


@pytest.mark.parametrize("hcl2", [UNKNOWN, {"vars": {"job": '{"id": "x"}', "by": UNKNOWN}}])
def test_a_known_jobspec_with_an_unknown_variable_is_refused(either: PluginProcess, name: str, hcl2: Any) -> None:
    given = inputs(either, jobspec=text("var.job.id"), hcl2=hcl2)
    with pytest.raises(Failed, match=r"error parsing jobspec: .*Unset variable"):
        either.create(JOB, given, preview=True)


def test_a_jobspec_that_is_as_unknown_as_its_variable_leaves_all_of_it_unknown(
    either: PluginProcess, name: str
) -> None:
    given = inputs(either, jobspec=UNKNOWN, hcl2=variables(name, UNKNOWN))
    assert either.create(JOB, given, preview=True)["name"] is UNKNOWN


def test_a_job_that_is_called_differently_by_a_variable_alone_is_changed_in_place_and_the_old_one_runs_on(
    either: PluginProcess, agent: Agent, name: str
) -> None:
    olds = inputs(either, jobspec=text("var.job.id"), hcl2=variables(name))
    state = either.create(JOB, olds).outputs.props
    news = inputs(either, jobspec=text("var.job.id"), hcl2=variables(f"{name}-b"))
    diff = either.diff(JOB, name, state, olds, news)
    assert (diff.replaces, diff.detailed) == ([], {"hcl2.vars.job": "UPDATE"})
    planned = either.update(JOB, name, state, olds, news, preview=True)
    assert (planned["name"], planned["modifyIndex"]) == (name, state["modifyIndex"])
    assert either.update(JOB, name, state, olds, news)["name"] == f"{name}-b"
    assert {job["ID"] for job in agent.api.get("jobs", prefix=name)} == {name, f"{name}-b"}


def test_a_text_that_names_another_job_replaces_it(either: PluginProcess, name: str) -> None:
    olds = inputs(either, jobspec=text(f'"{name}"'), hcl2=variables(name))
    state = either.create(JOB, olds).outputs.props
    news = inputs(either, jobspec=text(f'"{name}-b"'), hcl2=variables(f"{name}-b"))
    assert either.diff(JOB, name, state, olds, news).replaces


def test_a_text_that_names_the_job_a_variable_named_before_is_no_change(either: PluginProcess, name: str) -> None:
    olds = inputs(either, jobspec=text("var.job.id"), hcl2=variables(name))
    state = either.create(JOB, olds).outputs.props
    news = inputs(either, jobspec=text(f'"{name}"'), hcl2=variables(name))
    assert not either.diff(JOB, name, state, olds, news).changed


def test_mount_options_with_nothing_in_them_are_refused(either: PluginProcess) -> None:
    checked = either.check(REGISTRATION, VOLUME | {"mountOptions": {}})
    refused = checked.reasons
    if not checked.failures:
        with pytest.raises(Failed) as told:
            either.create(REGISTRATION, checked.inputs.props, timeout_s=5)
        refused = str(told.value)
    assert "failed to unpack mount_options configuration block" in refused


def test_an_empty_list_of_mount_flags_in_a_state_is_none(either: PluginProcess) -> None:
    news = either.check(REGISTRATION, VOLUME | {"mountOptions": {"fsType": "ext4"}}).inputs.props
    state = news | {"mountOptions": {"fsType": "ext4", "mountFlags": []}}
    diff = either.diff(REGISTRATION, "v", state, news, news)
    assert [path for path in diff.detailed if path.startswith("mountOptions")] == []
