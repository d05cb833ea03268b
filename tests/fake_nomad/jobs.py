"""Jobs of a FakeNomad: registered, planned, stopped, purged, and what they were submitted with."""

from __future__ import annotations

import uuid
from typing import Any

from tests.fake_nomad.answers import Answer, Asked, Records, record_key, refused, several

_MADE = {"Status": "running", "StatusDescription": "", "Stop": False, "Stable": False, "SubmitTime": 1, "Version": 0}
_DEFAULTS = {
    "Type": "service",
    "Datacenters": ["*"],
    "Region": "global",
    "Priority": 50,
    "AllAtOnce": False,
    "ParentID": "",
}
# What a registration leaves out or adds says nothing about whether the job is another one.
_BOOKKEEPING = frozenset({*_MADE, "CreateIndex", "JobModifyIndex", "ModifyIndex"})
DEPLOYMENTS = "status of deployments"
"""The record that says how deployments end; without it a registration starts none."""

_SECOND = 10**9
_UPDATE = {
    "Stagger": 30 * _SECOND,
    "MaxParallel": 1,
    "HealthCheck": "checks",
    "MinHealthyTime": 10 * _SECOND,
    "HealthyDeadline": 300 * _SECOND,
    "ProgressDeadline": 600 * _SECOND,
    "AutoRevert": False,
    "AutoPromote": False,
    "Canary": 0,
}
_NO_UPDATE = {name: type(value)() for name, value in _UPDATE.items()}
_SUBMISSIONS = "submissions of "


def ended(code: int, *, killed: bool = False) -> dict[str, Any]:
    """The state of a task that has ended with a code: one that Nomad killed has not failed."""
    details = {"exit_code": str(code), "oom_killed": "false", "signal": "0"}
    events: list[dict[str, Any]] = [{"Type": "Terminated", "DisplayMessage": f"Exit Code: {code}"}]
    events[0] |= {"ExitCode": code, "Details": details}
    if killed:
        events.append({"Type": "Killed", "DisplayMessage": "Task successfully killed", "Details": {}})
    elif code:
        events.append({"Type": "Not Restarting", "DisplayMessage": "Policy allows no restarts", "Details": {}})
    return {"State": "dead", "Failed": code != 0 and not killed, "StartedAt": "2026-01-01T03:00:00Z", "Events": events}


def write(records: Records, asked: Asked, index: int) -> Answer:
    """Registers or deregisters a job."""
    return _deregister(records, asked, index) if asked.method == "DELETE" else _register(records, asked, index)


def parse(asked: Asked) -> Answer:
    """A job of one group that has the text's id; no more of the text is read."""
    identity = asked.body["JobHCL"].split('"')[1]
    return 200, _DEFAULTS | {"ID": identity, "Name": identity, "TaskGroups": [{"Name": "group", "Tasks": []}]}


def plan(records: Records, asked: Asked) -> Answer:
    """What a registration would meet."""
    job = asked.body["Job"]
    found = records.get(record_key(f"job/{job['ID']}", job.get("Namespace") or asked.namespace))
    return 200, {"JobModifyIndex": found["JobModifyIndex"] if found else 0, "Warnings": ""}


def submission(records: Records, asked: Asked) -> Answer:
    """What a version of the job was submitted with."""
    job = asked.key(asked.path.removesuffix("/submission"))
    found = records.get(_SUBMISSIONS + job, {}).get(int(asked.query.get("version") or 0))
    return (404, "job source not found") if found is None else (200, found)


def _register(records: Records, asked: Asked, index: int) -> Answer:
    given: dict[str, Any] = asked.body["Job"]
    identity, namespace = given.get("ID"), given.get("Namespace") or asked.namespace
    if not identity:
        return refused(several("Missing job ID") + "\n")
    if f"namespace/{namespace}" not in records:
        return refused(several(f'job "{identity}" is in nonexistent namespace "{namespace}"') + "\n")
    key = record_key(f"job/{identity}", namespace)
    before = records.get(key)
    if conflict := _conflict(asked.body, before):
        return refused(f"Enforcing job modify index {conflict}")
    job = _completed(given) | {"Namespace": namespace}
    changed = before is None or before.get("Stop") or _essence(before) != _essence(job)
    if changed:
        version = 0 if before is None else before.get("Version", 0) + 1
        created = index if before is None else before["CreateIndex"]
        indexes = {"CreateIndex": created, "JobModifyIndex": index, "ModifyIndex": index}
        records[key] = job | _MADE | indexes | {"Version": version}
        if asked.body.get("Submission"):
            records.setdefault(_SUBMISSIONS + key, {})[version] = asked.body["Submission"]
    evaluation = str(uuid.uuid4())
    status = records.get(DEPLOYMENTS)
    deployment = f"deployment-of-{evaluation}" if status else ""
    found = {"ID": evaluation, "Status": "complete", "DeploymentID": deployment}
    records[record_key(f"evaluation/{evaluation}", namespace)] = found
    records[record_key(f"deployment/{deployment}", namespace)] = {"ID": deployment, "Status": status}
    return 200, {"EvalID": evaluation, "JobModifyIndex": records[key]["JobModifyIndex"], "Warnings": ""}


def _conflict(body: dict[str, Any], before: dict[str, Any] | None) -> str:
    """Why the job is not the one that the registration is for; empty where it may be any."""
    if not body.get("EnforceIndex"):
        return ""
    wanted, found = body.get("JobModifyIndex", 0), before["JobModifyIndex"] if before else 0
    if wanted == found:
        return ""
    if not wanted:
        return "0: job already exists"
    return f"{wanted}: job {f'exists with conflicting job modify index: {found}' if found else 'does not exist'}"


def _deregister(records: Records, asked: Asked, index: int) -> Answer:
    key = asked.key()
    job = records.get(key)
    if job is None:
        return 200, {"EvalID": "", "JobModifyIndex": 0}
    if asked.query.get("purge") == "true":
        del records[key]
    else:
        records[key] = job | {"Stop": True, "Status": "dead", "JobModifyIndex": index}
    return 200, {"EvalID": str(uuid.uuid4()), "JobModifyIndex": index}


def _completed(given: dict[str, Any]) -> dict[str, Any]:
    """The job with what Nomad fills in, as far as plugins read it."""
    job: dict[str, Any] = _DEFAULTS | _set(given)
    if job["Type"] != "service":
        return job
    update = _set(job.get("Update") or {})
    groups = [group | {"Update": _UPDATE | update | _set(group.get("Update") or {})} for group in job["TaskGroups"]]
    first = update or {"Stagger": _UPDATE["Stagger"], "MaxParallel": 1}
    return job | {"Update": _NO_UPDATE | first, "TaskGroups": groups}


def _set(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if value is not None}


def _essence(job: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in job.items() if name not in _BOOKKEEPING}
