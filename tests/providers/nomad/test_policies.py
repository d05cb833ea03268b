"""What the policies of program/ and operate/ allow, asked of a Nomad with access control: each request, each token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadNotFound
from tests.providers.nomad.agent import Agent, nomad_binary, running_agent

TOP: Final = Path(__file__).parents[3]
POLICIES: Final = {
    "program": "program/nomad-policy.hcl",
    "preview": "program/nomad-preview-policy.hcl",
    "failover": "program/failover-policy.hcl",
    "operator": "operate/nomad-policy.hcl",
}
JOB: Final = {
    "Job": {
        "ID": "probe",
        "Type": "batch",
        "Datacenters": ["nowhere"],
        "TaskGroups": [
            {"Name": "g", "Tasks": [{"Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/true"}}]}
        ],
    }
}
HOST_VOLUME: Final = {
    "Volume": {
        "Name": "x",
        "PluginID": "../../../bin/ls",
        "RequestedCapabilities": [{"AttachmentMode": "file-system", "AccessMode": "single-node-writer"}],
    }
}
# Request, body -> the tokens that may. Other requests are refused to all, as everything to a token without policies.
REQUESTS: Final = {
    "submit a job": ("PUT", "jobs", JOB, {"program", "operator"}),
    "plan a job": ("PUT", "job/probe/plan", {**JOB, "Diff": False}, {"program", "operator", "preview"}),
    "evaluate a job": ("PUT", "job/probe/evaluate", {"JobID": "probe"}, {"program", "operator", "failover"}),
    "stop a job": ("DELETE", "job/probe", None, {"program", "operator"}),
    "read a job": ("GET", "job/probe", None, {"program", "operator", "preview", "failover"}),
    "make a host volume": ("PUT", "volume/host/create", HOST_VOLUME, set()),
    "read clients": ("GET", "nodes", None, {"program", "operator", "preview", "failover"}),
    "read a variable of a job": ("GET", "var/nomad/jobs/mysql-server", None, {"program", "operator"}),
    "read what holds no secret": ("GET", "var/nomad/jobs/nomad-stateful/x", None, {"program", "operator", "preview"}),
    "read tokens": ("GET", "acl/tokens", None, set()),
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    nomad = nomad_binary()
    if nomad is None:
        pytest.skip("no nomad on PATH and none in the toolchain's cache")
    with running_agent(nomad, tmp_path_factory.mktemp("acl"), acl=True) as agent:
        agent.api.put("namespace/drill", {"Name": "drill"})
        for name, path in POLICIES.items():
            agent.api.put(f"acl/policy/{name}", {"Name": name, "Rules": (TOP / path).read_text(encoding="utf-8")})
        agent.api.put("jobs", JOB)
        yield agent


@pytest.mark.parametrize("namespace", ["default", "drill"])
@pytest.mark.parametrize("request_", REQUESTS)
def test_each_token_may_do_what_its_work_takes(guarded: Agent, request_: str, namespace: str) -> None:
    method, path, body, wanted = REQUESTS[request_]
    if namespace == "drill":
        wanted = wanted & {"operator"} if path not in {"nodes", "acl/tokens"} else wanted
    assert {name for name in POLICIES if _may(guarded, name, method, path, body, namespace)} == wanted


def _may(agent: Agent, policy: str, method: str, path: str, body: object, namespace: str) -> bool:
    secret = agent.api.put("acl/token", {"Name": policy, "Type": "client", "Policies": [policy]})["SecretID"]
    api = NomadApi(agent.address, secret)
    try:
        if method == "GET":
            api.get(path, namespace=namespace)
        elif method == "DELETE":
            api.delete(path, namespace=namespace)
        else:
            api.put(path, body, namespace=namespace)
    except NomadNotFound:
        return True
    except NomadApiError as error:
        if error.status == 403:
            return False
    finally:
        api.close()
    return True
