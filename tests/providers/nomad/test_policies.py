"""What the policies of program and operator allow, asked of a Nomad with access control: each request and token."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import pytest
from moto.server import ThreadedMotoServer

from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadNotFound
from nomad_stateful.nomad.task_log import TaskLog
from tests.providers.nomad.agent import Agent, eventually, running_agent

TOP: Final = Path(__file__).parents[3]
POLICIES: Final = {
    "program": "nomad_stateful/program/nomad-policy.hcl",
    "preview": "nomad_stateful/program/nomad-preview-policy.hcl",
    "failover": "nomad_stateful/program/failover-policy.hcl",
    "operator": "nomad_stateful/operate/nomad-policy.hcl",
    "drill": "nomad_stateful/operate/drill-policy.hcl",
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
# Request, body -> the tokens that may in the stack's namespace. Other requests are refused to all, as everything to a
# token without policies.
REQUESTS: Final = {
    "submit a job": ("PUT", "jobs", JOB, {"program", "operator"}),
    "plan a job": ("PUT", "job/probe/plan", {**JOB, "Diff": False}, {"program", "operator", "preview"}),
    "evaluate a job": ("PUT", "job/probe/evaluate", {"JobID": "probe"}, {"program", "operator", "failover"}),
    "stop a job": ("DELETE", "job/probe", None, {"program", "operator"}),
    "read a job": ("GET", "job/probe", None, {"program", "operator", "preview", "failover", "drill"}),
    "make a host volume": ("PUT", "volume/host/create", HOST_VOLUME, set()),
    "read clients": ("GET", "nodes", None, {"program", "operator", "preview", "failover", "drill"}),
    "read a variable of a job": ("GET", "var/nomad/jobs/mysql-server", None, {"program", "operator"}),
    "read what holds no secret": ("GET", "var/nomad/jobs/nomad-stateful/x", None, {"program", "operator", "preview"}),
    "read tokens": ("GET", "acl/tokens", None, set()),
}


@pytest.fixture(scope="module")
def guarded(nomad: str) -> Iterator[Agent]:
    # not pytest's folder: the path of a task's socket may have 107 characters
    with tempfile.TemporaryDirectory(prefix="acl-") as folder, running_agent(nomad, Path(folder), acl=True) as agent:
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
        drills = {"operator", "drill"} if "operator" in wanted else set()
        wanted = drills if path not in {"nodes", "acl/tokens"} else wanted
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


def test_the_failover_watch_works_by_its_own_identity(guarded: Agent, tmp_path: Path) -> None:
    cloud = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    cloud.start()
    host, port = cloud.get_host_and_port()
    program = _watch(tmp_path / "watch", f"http://{host}:{port}")
    given = (TOP / "jobs/failover.vars.hcl").read_text(encoding="utf-8").replace("count = 2", "count = 1")
    jobspec = (TOP / "jobs/failover.nomad.hcl").read_text(encoding="utf-8")
    body = {"JobHCL": jobspec, "Variables": given, "Canonicalize": True}
    job = guarded.api.put("jobs/parse", body)
    [group] = job["TaskGroups"]
    [task] = group["Tasks"]
    task["Driver"], task["Config"] = "raw_exec", {"command": str(program), "args": task["Config"]["args"]}
    rules = (TOP / POLICIES["failover"]).read_text(encoding="utf-8")
    bound = {"Name": "watch", "Rules": rules, "JobACL": {"Namespace": "default", "JobID": "failover"}}
    guarded.api.put("acl/policy/watch", bound)
    guarded.api.put("jobs", {"Job": job})
    try:
        eventually(
            lambda: "watching the jobs of namespace default" in _said(guarded, "stdout"),
            60,
            lambda: _said(guarded, "stderr"),
        )
    finally:
        guarded.purge("failover")
        cloud.stop()


def _watch(program: Path, aws: str) -> Path:
    """The watch as a program that finds AWS there, and ends where its environment has a token."""
    given = {"AWS_ENDPOINT_URL": aws, "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "PYTHONPATH": TOP}
    exports = "".join(f"export {name}={value}\n" for name, value in given.items())
    start = f'exec {sys.executable} -m nomad_stateful.agent "$@"\n'
    program.write_text('#!/bin/sh\ntest -z "$NOMAD_TOKEN" || exit 1\n' + exports + start)
    program.chmod(0o755)
    return program


def _said(agent: Agent, stream: Literal["stdout", "stderr"]) -> str:
    found = agent.allocations("failover")
    return "\n".join(TaskLog(agent.api, "default", one["ID"], "failover", stream).since() for one in found)
