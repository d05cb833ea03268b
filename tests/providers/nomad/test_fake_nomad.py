"""The fake Nomad answers as an agent does."""

from __future__ import annotations

import json
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_nomad import FakeNomad
from tests.providers.conformance.nomad_subjects import jobspec
from tests.providers.nomad.agent import Agent, running_agent

pytestmark = pytest.mark.nomad

# Counted, drawn or measured by each on its own.
OWN = frozenset({"EvalID", "JobModifyIndex", "CreateIndex", "ModifyIndex", "SubmitTime", "Version", "Status", "ID"})
Question = tuple[str, str, Any]

JOB = json.loads(jobspec("memory"))["Job"] | {"Type": "batch"}
WRITER = {"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}
VOLUME = {
    "ID": "v",
    "Name": "v",
    "PluginID": "no-such-plugin",
    "Namespace": "default",
    "RequestedCapabilities": [WRITER],
}
SERVICE = json.loads(jobspec("service", count=0))["Job"]
UPDATED = SERVICE["TaskGroups"][0] | {"Update": {"MaxParallel": 2, "MinHealthyTime": 5 * 10**9}}
SUBMISSION = {"Source": "the text", "Format": "hcl2", "VariableFlags": {"a": "b"}}

QUESTIONS: dict[str, list[Question]] = {
    "variables": [
        ("GET", "var/memory/a", None),
        ("GET", "var/", None),
        ("PUT", "var/memory/a", {"Path": "memory/a", "Items": {"k": "v"}}),
        ("GET", "var/memory/a", None),
        ("GET", "var/memory/a?namespace=elsewhere", None),
        ("PUT", "var/memory/a?namespace=elsewhere", {"Items": {"k": "w"}}),
        ("GET", "var/memory/a?namespace=elsewhere", None),
        ("PUT", "var/memory/b", {"Items": {}}),
        ("DELETE", "var/memory/a", None),
        ("DELETE", "var/memory/a", None),
        ("DELETE", "var/memory/a?namespace=elsewhere", None),
        ("PUT", "var/memory/c?cas=7", {"Path": "memory/c", "Items": {"k": "v"}}),
        ("PUT", "var/memory/c?cas=0", {"Path": "memory/c", "Items": {"k": "v"}}),
        ("PUT", "var/memory/c?cas=0", {"Path": "memory/c", "Items": {"k": "w"}}),
        ("GET", "var/memory/c", None),
        ("DELETE", "var/memory/c?cas=1", None),
        ("DELETE", "var/memory/c", None),
    ],
    "jobs": [
        ("GET", "job/memory", None),
        ("GET", "job/memory/allocations", None),
        ("PUT", "jobs", {"Job": JOB | {"ID": ""}}),
        ("PUT", "jobs", {"Job": JOB | {"Namespace": "nowhere"}}),
        ("PUT", "jobs?namespace=nowhere", {"Job": {key: JOB[key] for key in JOB if key != "Namespace"}}),
        ("PUT", "job/memory/plan", {"Job": JOB}),
        ("PUT", "jobs?namespace=default", {"Job": JOB, "Submission": SUBMISSION}),
        ("GET", "job/memory", None),
        ("GET", "job/memory?namespace=elsewhere", None),
        ("GET", "job/memory/submission?version=0", None),
        ("GET", "job/memory/submission?version=7", None),
        ("PUT", "job/memory/plan", {"Job": JOB}),
        ("DELETE", "job/memory?purge=false", None),
        ("GET", "job/memory", None),
        ("DELETE", "job/memory?purge=true", None),
        ("GET", "job/memory", None),
        ("DELETE", "job/memory?purge=true", None),
    ],
    "services": [
        ("PUT", "jobs", {"Job": SERVICE}),
        ("GET", "job/service", None),
        ("PUT", "jobs", {"Job": SERVICE | {"Datacenters": None, "TaskGroups": [UPDATED]}}),
        ("GET", "job/service", None),
        ("DELETE", "job/service?purge=true", None),
    ],
    "volumes": [
        ("GET", "volume/csi/v", None),
        ("PUT", "volume/csi/v", {"Volumes": [VOLUME]}),
        ("PUT", "volume/csi/v", {"Volumes": [VOLUME | {"RequestedCapabilities": []}]}),
        ("PUT", "volume/csi/v", {"Volumes": [VOLUME | {"Namespace": "nowhere"}]}),
        ("DELETE", "volume/csi/v?force=true", None),
        ("DELETE", "volume/csi/v/delete", None),
        ("GET", "plugin/csi/no-such-plugin", None),
        ("GET", "plugins?type=csi", None),
        ("GET", "volumes?type=csi", None),
        ("GET", "evaluation/8f3c2a1b-0000-0000-0000-000000000000", None),
    ],
}


@pytest.fixture(scope="module")
def agent(nomad: str) -> Iterator[Agent]:
    """An agent that no other test has used: what it lists is what was put there here."""
    with tempfile.TemporaryDirectory(prefix="nomad-") as folder, running_agent(nomad, Path(folder)) as running:
        yield running


def ask(address: str, question: Question) -> tuple[int, Any]:
    """Returns the status and the text or document of the answer."""
    method, path, body = question
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{address}/v1/{path}", method=method, data=data)
    try:
        with urllib.request.urlopen(request) as answer:
            text = answer.read().decode()
            return answer.status, json.loads(text) if text else ""
    except urllib.error.HTTPError as error:
        said = error.read().decode().strip()
        # A write that came too late is answered with what is there.
        return error.code, json.loads(said) if error.code == 409 else said


def differing(ours: Any, theirs: Any, where: str = "") -> list[str]:
    """Returns what the one in memory says otherwise than the agent, or says and the agent does not."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            line
            for key, value in ours.items()
            for line in (
                [f"{where}.{key}: the agent has no such field"] * (key not in theirs)
                or differing(value, theirs[key], f"{where}.{key}")
            )
            if key not in OWN or key not in theirs
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [line for index, pair in pairs for line in differing(*pair, f"{where}[{index}]")]
    return [] if ours == theirs else [f"{where}: {ours!r}, the agent: {theirs!r}"]


@pytest.mark.parametrize("subject", QUESTIONS)
def test_it_answers_as_an_agent_does(agent: Agent, server: FakeNomad, subject: str) -> None:
    for question in QUESTIONS[subject]:
        ours, theirs = ask(server.address, question), ask(agent.address, question)
        assert ours[0] == theirs[0], (question, ours, theirs)
        assert differing(ours[1], theirs[1]) == [], question
