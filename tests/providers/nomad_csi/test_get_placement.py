"""getPlacement on a real Nomad with one client: its scheduler is asked, and nothing is submitted."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fake_nomad import FakeNomad
from tests.providers.harness import Failed, PluginProcess, plugin_process
from tests.providers.nomad.agent import Agent, eventually
from tests.providers.nomad_csi.conftest import EXECUTABLE

FUNCTION = "nomad-csi:index:getPlacement"
ANY = [{"name": "any", "count": 1}]
SPEC = """
variable "memory" {
  type = number
}

job "NAME" {
  namespace = "NAMESPACE"
  node_pool = "POOL"
  type      = "TYPE"

  group "main" {
    constraint {
      distinct_hosts = true
    }

    volume "data" {
      type            = "csi"
      source          = "not-registered-yet"
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
    }

    task "main" {
      driver = "DRIVER"
      config {
        command = "sleep"
        args    = ["3600"]
      }
      volume_mount {
        volume      = "data"
        destination = "/data"
      }
      resources {
        cpu    = 20
        memory = var.memory
      }
    }
  }
}
"""
PLAIN = {"DRIVER": "raw_exec", "POOL": "default", "NAMESPACE": "default", "TYPE": "service"}


@pytest.fixture(scope="module")
def asked(agent: Agent) -> Iterator[PluginProcess]:
    with plugin_process(EXECUTABLE, {"NOMAD_ADDR": agent.address}) as process:
        process.configure()
        yield process


def question(name: str = "web", memory: int = 20, parts: list[dict[str, Any]] | None = None, **words: str) -> Any:
    text = SPEC.replace("NAME", name, 1)
    for word, value in (PLAIN | words).items():
        text = text.replace(word, value)
    return {"jobspec": text, "variables": f"memory = {memory}", "parts": parts or ANY}


def only_failure(answer: dict[str, Any]) -> dict[str, Any]:
    (failure,) = answer["failures"]
    return dict(failure)


def test_a_job_that_has_a_client_needs_no_volume_and_is_not_submitted(agent: Agent, asked: PluginProcess) -> None:
    answer = asked.invoke(FUNCTION, question())
    assert (answer["jobId"], answer["failures"], answer["refused"], answer["notChecked"]) == ("web", [], "", "")
    assert agent.api.get("jobs") == []


def test_instances_on_hosts_of_their_own_are_counted(asked: PluginProcess) -> None:
    answer = asked.invoke(FUNCTION, question(parts=[{"name": "any", "count": 3}]))
    assert only_failure(answer) == {
        "part": "any",
        "missing": 2,
        "clients": 1,
        "unfit": {"distinct_hosts": 1},
        "full": {},
    }
    assert answer["registeredToo"] is False


def test_each_part_has_constraints_of_its_own(asked: PluginProcess) -> None:
    elsewhere = {"attribute": "${node.datacenter}", "operator": "=", "value": "dc9"}
    parts = [{"name": "here", "count": 1}, {"name": "there", "count": 1, "constraints": [elsewhere]}]
    failure = only_failure(asked.invoke(FUNCTION, question(parts=parts)))
    assert (failure["part"], failure["unfit"]) == ("there", {"${node.datacenter} = dc9": 1})


def test_a_system_job_is_told_about_like_any_other(asked: PluginProcess) -> None:
    failure = only_failure(asked.invoke(FUNCTION, question(TYPE="system", DRIVER="docker")))
    assert failure["unfit"] == {"missing drivers": 1}


def test_a_client_without_room_is_not_one_that_does_not_fit(asked: PluginProcess) -> None:
    failure = only_failure(asked.invoke(FUNCTION, question(memory=10_000_000)))
    assert (failure["unfit"], failure["full"]) == ({}, {"memory": 1})


def test_what_nomad_refuses_is_told_in_its_words(asked: PluginProcess) -> None:
    assert asked.invoke(FUNCTION, question(POOL="gpu"))["refused"] == 'job "web" is in nonexistent node pool "gpu"'
    refused = asked.invoke(FUNCTION, question(NAMESPACE="nope"))["refused"]
    assert refused == 'job "web" is in nonexistent namespace "nope"'
    with pytest.raises(Failed, match="Unsupported argument"):
        asked.invoke(FUNCTION, {"jobspec": "nothing = 1", "parts": ANY})


def test_a_job_that_runs_on_a_client_that_takes_no_more_is_told_from_one_that_asks_too_much(
    agent: Agent, asked: PluginProcess
) -> None:
    name = f"t-{uuid.uuid4().hex[:8]}"
    text = SPEC.replace("NAME", name, 1).partition('    volume "data"')
    plain = text[0] + text[2].partition("    }\n")[2]
    for word, value in PLAIN.items():
        plain = plain.replace(word, value)
    plain = plain.replace('volume_mount {\n        volume      = "data"\n        destination = "/data"\n      }', "")
    body = {"JobHCL": plain, "Variables": "memory = 20", "Canonicalize": True}
    agent.api.put("jobs", {"Job": agent.api.put("jobs/parse", body)})
    eventually(lambda: agent.running(name), 30, lambda: f"{name} does not run")
    assert asked.invoke(FUNCTION, question(name))["failures"] == []
    assert asked.invoke(FUNCTION, question(name, DRIVER="docker"))["registeredToo"] is False
    assert asked.invoke(FUNCTION, question(name, parts=[{"name": "any", "count": 2}]))["registeredToo"] is False
    fast = {"constraints": [{"attribute": "${meta.disk}", "operator": "=", "value": "fast"}]}
    answer = asked.invoke(FUNCTION, question(name) | fast)
    assert (only_failure(answer)["unfit"], answer["registeredToo"]) == ({"${meta.disk} = fast": 1}, False)
    (node,) = agent.api.get("nodes")
    try:
        agent.api.put(f"node/{node['ID']}/eligibility", {"Eligibility": "ineligible"})
        answer = asked.invoke(FUNCTION, question(name))
        assert (only_failure(answer)["clients"], answer["registeredToo"]) == (0, True)
    finally:
        agent.api.put(f"node/{node['ID']}/eligibility", {"Eligibility": "eligible"})
    assert agent.running(name)


def test_a_token_that_may_not_plan_is_told_what_it_lacks(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("jobs/parse", {"ID": "web", "TaskGroups": [{"Name": "main", "Tasks": []}]})
    nomad.put("acl/token/self", {})
    nomad.refuse("job/web/plan", 403, "Permission denied")
    answer = plugin.invoke(FUNCTION, {"jobspec": 'job "web" {}', "parts": ANY})
    assert 'namespace "default" { capabilities = ["plan-job"] }' in answer["notChecked"]
    assert answer["failures"] == []


@pytest.mark.parametrize("parts", [["any"], [{"name": "any"}], [{"count": 1}], "any"])
def test_parts_without_name_or_count_are_refused(nomad: FakeNomad, plugin: PluginProcess, parts: Any) -> None:
    nomad.put("jobs/parse", {"ID": "web", "TaskGroups": [{"Name": "main", "Tasks": []}]})
    with pytest.raises(Failed, match="parts is not a list of parts"):
        plugin.invoke(FUNCTION, {"jobspec": 'job "web" {}', "parts": parts})
