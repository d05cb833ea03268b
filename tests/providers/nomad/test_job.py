"""nomad:index/job:Job."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from nomad_stateful.plugin_server.values import UNKNOWN
from tests.providers.harness import Failed, PluginProcess, Resource, in_background
from tests.providers.nomad.agent import STOPPED_S, Agent, eventually
from tests.providers.nomad.jobs import JOB, batch_json, sleeper

pytestmark = pytest.mark.nomad


def created(plugin: PluginProcess, **inputs: Any) -> tuple[dict[str, Any], Resource]:
    checked = plugin.check(JOB, inputs)
    assert not checked.failures, checked.reasons
    return checked.inputs.props, plugin.create(JOB, checked.inputs.props)


def test_a_preview_needs_no_nomad(offline: PluginProcess, name: str) -> None:
    checked = offline.check(JOB, {"jobspec": batch_json(name), "json": True})
    planned = offline.create(JOB, checked.inputs.props, preview=True)
    assert not checked.failures
    assert planned.id == ""
    assert planned["modifyIndex"] is UNKNOWN
    assert (planned["name"], planned["namespace"], planned["type"]) == (name, "default", "batch")
    assert planned["taskGroups"][0]["tasks"][0]["driver"] == "raw_exec"


def test_an_unknown_jobspec_leaves_everything_of_it_unknown(offline: PluginProcess) -> None:
    checked = offline.check(JOB, {"jobspec": UNKNOWN})
    planned = offline.create(JOB, checked.inputs.props, preview=True)
    assert not checked.failures
    assert planned["name"] is UNKNOWN
    assert planned["detach"] is True


def test_defaults_are_those_of_the_official_plugin(offline: PluginProcess, name: str) -> None:
    inputs = offline.check(JOB, {"jobspec": sleeper(name), "hcl2": {"vars": {}}}).inputs
    defaults = ["deregisterOnDestroy", "deregisterOnIdChange", "detach", "preserveCounts", "rerunIfDead"]
    assert inputs["__defaults"] == defaults
    assert inputs["hcl2"] == {"vars": {}, "allowFs": False, "__defaults": ["allowFs"]}


def test_a_jobspec_that_does_not_parse_is_refused_without_being_printed(offline: PluginProcess, name: str) -> None:
    spec = sleeper(name).replace("driver ", "drover ") + "# swordfish\n"
    failures = offline.check(JOB, {"jobspec": spec}).failures
    assert [prop for prop, _ in failures] == [""]
    assert "error parsing jobspec" in failures[0][1]
    assert 'An argument named "drover" is not expected here' in failures[0][1]
    assert "swordfish" not in failures[0][1]


def test_variables_of_any_type_are_given_as_strings(plugin: PluginProcess, agent: Agent, name: str) -> None:
    spec = 'variable "task" { type = object({ args = list(string) }) }\nvariable "count" { type = number }\n'
    spec += sleeper(name).replace("count = 1", "count = var.count").replace('["3600"]', "var.task.args")
    variables = {"task": json.dumps({"args": ["3600", "$${literal}"]}), "count": "2"}
    created(plugin, jobspec=spec, hcl2={"vars": variables})
    group = agent.api.get(f"job/{name}")["TaskGroups"][0]
    assert group["Count"] == 2
    assert group["Tasks"][0]["Config"]["args"] == ["3600", "${literal}"]
    assert agent.api.get(f"job/{name}/submission", version=0)["VariableFlags"] == variables


def test_a_variable_that_the_jobspec_does_not_declare_is_refused(offline: PluginProcess, name: str) -> None:
    reasons = offline.check(JOB, {"jobspec": sleeper(name), "hcl2": {"vars": {"colour": "swordfish"}}}).reasons
    assert "hcl2.vars sets colour, which the jobspec does not declare" in reasons
    assert "swordfish" not in reasons


def test_variables_must_be_strings(offline: PluginProcess, name: str) -> None:
    reasons = offline.check(JOB, {"jobspec": sleeper(name), "hcl2": {"vars": {"count": 2}}}).reasons
    assert reasons == "hcl2.vars.count must be a string: write objects, lists, numbers and booleans as JSON text"


def test_filesystem_functions_are_off_unless_asked_for(offline: PluginProcess, name: str) -> None:
    spec = sleeper(name).replace('"3600"', 'file("/proc/version")')
    assert "filesystem function disabled" in offline.check(JOB, {"jobspec": spec}).reasons
    assert not offline.check(JOB, {"jobspec": spec, "hcl2": {"allowFs": True}}).failures


def test_a_job_is_registered_read_and_removed(plugin: PluginProcess, agent: Agent, name: str) -> None:
    inputs, job = created(plugin, jobspec=sleeper(name), purgeOnDestroy=True)
    assert job.id == name
    record = agent.api.get(f"job/{name}")
    assert job["modifyIndex"] == str(record["JobModifyIndex"])
    assert job["submitTime"] == str(record["SubmitTime"])
    assert (job["region"], job["datacenters"], job["version"]) == ("global", ["*"], 0)
    updates = job["taskGroups"][0]["updateStrategies"][0]
    assert (updates["minHealthyTime"], updates["healthyDeadline"], updates["stagger"]) == ("1s", "20s", "30s")
    found = plugin.found(JOB, name, inputs, job.outputs.props)
    assert found["jobspec"] == inputs["jobspec"]
    assert found.inputs.props == inputs
    agent.await_evaluated(name)
    plugin.delete(JOB, name, job.outputs.props)
    assert plugin.read(JOB, name, inputs, job.outputs.props) is None
    plugin.delete(JOB, name, job.outputs.props)


def test_a_job_that_is_not_to_be_deregistered_stays(plugin: PluginProcess, agent: Agent, name: str) -> None:
    _, job = created(plugin, jobspec=sleeper(name), deregisterOnDestroy=False)
    plugin.delete(JOB, name, job.outputs.props)
    assert agent.api.get(f"job/{name}")["Stop"] is False


def test_layout_comments_and_spelled_out_defaults_are_no_change(plugin: PluginProcess, name: str) -> None:
    inputs, job = created(plugin, jobspec=sleeper(name))
    spec = (
        sleeper(name).replace("\n", "\n\n# a remark\n").replace("group", 'type = "service"\n region = "global"\n group')
    )
    assert not plugin.diff(JOB, name, job.outputs.props, inputs, inputs | {"jobspec": spec}).changed
    unlike = inputs | {"jobspec": sleeper(name, count=2)}
    assert plugin.diff(JOB, name, job.outputs.props, inputs, unlike).detailed == {"jobspec": "UPDATE"}


def test_key_order_in_json_is_no_change(plugin: PluginProcess, name: str) -> None:
    inputs, job = created(plugin, jobspec=batch_json(name), json=True)
    reordered = json.dumps(json.loads(batch_json(name)), sort_keys=True, indent=2)
    assert not plugin.diff(JOB, name, job.outputs.props, inputs, inputs | {"jobspec": reordered}).changed


def test_an_update_registers_a_new_version(plugin: PluginProcess, agent: Agent, name: str) -> None:
    inputs, job = created(plugin, jobspec=sleeper(name))
    news = inputs | {"jobspec": sleeper(name, count=2)}
    planned = plugin.update(JOB, name, job.outputs.props, inputs, news, preview=True)
    assert planned["modifyIndex"] is UNKNOWN
    assert (planned["name"], planned["taskGroups"][0]["count"]) == (name, 2)
    updated = plugin.update(JOB, name, job.outputs.props, inputs, news)
    assert (updated["version"], agent.api.get(f"job/{name}")["TaskGroups"][0]["Count"]) == (1, 2)


def test_a_changed_flag_alone_leaves_the_outputs_known(plugin: PluginProcess, name: str) -> None:
    inputs, job = created(plugin, jobspec=sleeper(name))
    news = inputs | {"purgeOnDestroy": True}
    assert plugin.diff(JOB, name, job.outputs.props, inputs, news).detailed == {"purgeOnDestroy": "ADD"}
    planned = plugin.update(JOB, name, job.outputs.props, inputs, news, preview=True)
    assert planned["name"] == name
    assert planned["status"] == job["status"]


def test_a_job_someone_else_changed_is_not_overwritten(plugin: PluginProcess, agent: Agent, name: str) -> None:
    inputs, job = created(plugin, jobspec=sleeper(name))
    record = agent.api.get(f"job/{name}")
    record["Meta"] = {"by": "hand"}
    agent.api.put("jobs", {"Job": record})
    news = inputs | {"jobspec": sleeper(name, count=2)}
    with pytest.raises(Failed, match="job modify index has changed since last refresh"):
        plugin.diff(JOB, name, job.outputs.props, inputs, news)
    refreshed = plugin.found(JOB, name, inputs, job.outputs.props)
    assert plugin.diff(JOB, name, refreshed.outputs.props, inputs, news).changed


def test_drift_by_the_command_line_appears_as_the_submitted_jobspec(
    plugin: PluginProcess, agent: Agent, name: str
) -> None:
    inputs, job = created(plugin, jobspec=sleeper(name))
    theirs = sleeper(name, count=3)
    record = agent.api.get(f"job/{name}") | {"Meta": {"by": "hand"}}
    agent.api.put("jobs", {"Job": record, "Submission": {"Source": theirs, "Format": "hcl2"}})
    found = plugin.found(JOB, name, inputs, job.outputs.props)
    assert found["jobspec"] == theirs
    assert found.inputs["jobspec"] == theirs
    assert plugin.diff(JOB, name, found.outputs.props, found.inputs.props, inputs).detailed == {"jobspec": "UPDATE"}


@pytest.mark.parametrize("deregister", [True, False])
def test_another_job_id_is_another_job(plugin: PluginProcess, name: str, deregister: bool) -> None:
    inputs, job = created(plugin, jobspec=sleeper(name), deregisterOnIdChange=deregister)
    diff = plugin.diff(JOB, name, job.outputs.props, inputs, inputs | {"jobspec": sleeper(name + "-new")})
    assert diff.changed
    assert diff.replaces == (["name"] if deregister else [])
    assert not diff.delete_before_replace


def test_another_namespace_replaces_the_job(plugin: PluginProcess, name: str) -> None:
    inputs, job = created(plugin, jobspec=sleeper(name))
    diff = plugin.diff(JOB, name, job.outputs.props, inputs, inputs | {"jobspec": sleeper(name, namespace="other")})
    assert diff.replaces == ["namespace"]


def test_a_dead_job_runs_again_where_asked(plugin: PluginProcess, agent: Agent, name: str) -> None:
    inputs, job = created(plugin, jobspec=sleeper(name), rerunIfDead=True)
    agent.api.delete(f"job/{name}")
    eventually(lambda: agent.api.get(f"job/{name}")["Status"] == "dead", STOPPED_S, lambda: f"{name} is not dead")
    found = plugin.found(JOB, name, inputs, job.outputs.props)
    assert (found["status"], found["stop"]) == ("dead", True)
    assert plugin.diff(JOB, name, found.outputs.props, inputs, inputs).detailed == {"status": "UPDATE"}
    lasting = inputs | {"rerunIfDead": False}
    assert not plugin.diff(JOB, name, found.outputs.props | {"rerunIfDead": False}, lasting, lasting).changed


def test_a_job_purged_behind_our_back_is_gone(plugin: PluginProcess, agent: Agent, name: str) -> None:
    inputs, job = created(plugin, jobspec=sleeper(name))
    agent.purge(name)
    assert plugin.read(JOB, name, inputs, job.outputs.props) is None


def test_waiting_ends_with_a_healthy_deployment(plugin: PluginProcess, agent: Agent, name: str) -> None:
    _, job = created(plugin, jobspec=sleeper(name), detach=False, readAllocationIds=True)
    assert (job["deploymentStatus"], len(job["allocationIds"])) == ("successful", 1)
    assert agent.running(name)
    assert "main 0 of 1 healthy" in plugin.engine.wait_for("waiting for deployment")


def test_a_failed_deployment_keeps_the_job_and_tells_why(plugin: PluginProcess, agent: Agent, name: str) -> None:
    inputs = plugin.check(JOB, {"jobspec": sleeper(name, command="/no/such/program"), "detach": False}).inputs.props
    with pytest.raises(Failed) as failed:
        plugin.create(JOB, inputs)
    kept = failed.value.partial
    assert kept is not None
    assert (kept.id, kept.outputs["namespace"], kept.inputs["detach"]) == (name, "default", False)
    reason = kept.reasons[0]
    assert f"error waiting for job '{name}' to schedule/deploy successfully" in reason
    assert "terminated with status 'failed'" in reason
    assert "main: Driver Failure" in reason
    assert "/no/such/program" in reason
    fixed = inputs | {"jobspec": sleeper(name)}
    assert plugin.diff(JOB, name, kept.outputs, inputs, fixed).replaces == []
    assert plugin.update(JOB, name, kept.outputs, inputs, fixed)["deploymentStatus"] == "successful"


def test_a_wait_ends_at_the_custom_timeout(plugin: PluginProcess, name: str) -> None:
    spec = sleeper(name).replace('min_healthy_time  = "1s"', 'min_healthy_time  = "15s"')
    inputs = plugin.check(JOB, {"jobspec": spec, "detach": False}).inputs.props
    begun = time.monotonic()
    with pytest.raises(Failed, match="was still running after 2 s") as failed:
        plugin.create(JOB, inputs, timeout_s=2)
    assert time.monotonic() - begun < 10
    assert failed.value.partial is not None


def test_cancelling_a_wait_takes_a_second_and_keeps_the_job(plugin: PluginProcess, name: str) -> None:
    spec = sleeper(name).replace('min_healthy_time  = "1s"', 'min_healthy_time  = "15s"')
    inputs = plugin.check(JOB, {"jobspec": spec, "detach": False}).inputs.props
    thread, outcome = in_background(lambda: plugin.create(JOB, inputs))
    plugin.engine.wait_for("waiting for deployment")
    cancelled = time.monotonic()
    plugin.cancel()
    thread.join(10)
    assert time.monotonic() - cancelled < 1
    [failed] = outcome
    assert failed.partial is not None


def test_an_import_takes_id_and_namespace(plugin: PluginProcess, name: str) -> None:
    inputs, _ = created(plugin, jobspec=sleeper(name))
    found = plugin.found(JOB, f"{name}@default")
    assert found.id == name
    assert found.inputs["jobspec"] == inputs["jobspec"]
    # The official plugin leaves the flags unset too, so that the next run sets them.
    diff = plugin.diff(JOB, name, found.outputs.props, found.inputs.props, inputs)
    assert (set(diff.detailed), diff.replaces) == ({"detach", "deregisterOnDestroy", "deregisterOnIdChange"}, [])
    with pytest.raises(Failed, match="Import ID should follow the pattern <id>@<namespace>"):
        plugin.read(JOB, name)


def test_a_secret_jobspec_stays_secret(plugin: PluginProcess, name: str) -> None:
    checked = plugin.check(JOB, {"jobspec": sleeper(name)}, secrets={"jobspec"})
    job = plugin.create(JOB, checked.inputs.props, secrets=checked.inputs.secrets)
    assert job.outputs.secrets == {"jobspec"}


def test_a_server_that_refuses_a_job_is_quoted(plugin: PluginProcess, name: str) -> None:
    inputs = plugin.check(JOB, {"jobspec": sleeper(name).replace('driver       = "raw_exec"', 'driver = ""')}).inputs
    with pytest.raises(Failed, match="error applying jobspec: Unexpected response code: 500") as failed:
        plugin.create(JOB, inputs.props)
    assert failed.value.partial is None


def test_a_stopped_job_leaves_its_allocations_to_stop_by_themselves(
    plugin: PluginProcess, agent: Agent, name: str
) -> None:
    _, job = created(plugin, jobspec=sleeper(name), detach=False)
    plugin.delete(JOB, name, job.outputs.props)
    assert agent.api.get(f"job/{name}")["Stop"] is True
    eventually(lambda: not agent.running(name), STOPPED_S, lambda: "still running")
