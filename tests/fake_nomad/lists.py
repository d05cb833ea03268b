"""Lists of a FakeNomad, made of its records: stubs of what is there, with Nomad's own fields and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.fake_nomad.answers import EVERY, Asked, Records

_INDEXES = ("CreateIndex", "ModifyIndex")
_CSI = ("Provider", "ControllerRequired", "ControllersHealthy", "ControllersExpected", "NodesHealthy", "NodesExpected")
STUBS = {
    "nodes": (
        *("Address", "ID", "Datacenter", "Name", "NodePool", "NodeClass", "Version", "Drain", "SchedulingEligibility"),
        *("Status", "StatusDescription", "Drivers", "HostVolumes", "LastDrain", *_INDEXES),
    ),
    "jobs": (
        *("ID", "ParentID", "Name", "Namespace", "Datacenters", "NodePool", "Type", "Priority", "Periodic"),
        *("ParameterizedJob", "Stop", "Status", "StatusDescription", "JobSummary", *_INDEXES, "JobModifyIndex"),
        "SubmitTime",
    ),
    "allocations": (
        *("ID", "EvalID", "Name", "Namespace", "NodeID", "NodeName", "JobID", "JobType", "JobVersion", "TaskGroup"),
        *("DesiredStatus", "DesiredDescription", "ClientStatus", "ClientDescription", "DesiredTransition"),
        *("TaskStates", "DeploymentStatus", "FollowupEvalID", "NextAllocation", "RescheduleTracker"),
        *("PreemptedAllocations", "PreemptedByAllocation", *_INDEXES, "CreateTime", "ModifyTime"),
    ),
    "volumes": (
        *("ID", "Namespace", "Name", "ExternalID", "Topologies", "AccessMode", "AttachmentMode", "CurrentReaders"),
        *("CurrentWriters", "Schedulable", "PluginID", *_CSI, "ResourceExhausted", *_INDEXES),
        *("CreateTime", "ModifyTime"),
    ),
    "plugins": ("ID", *_CSI, *_INDEXES),
}
"""The fields of a list's elements (nomad/structs/structs.go and csi.go, *ListStub)."""
_KINDS = {
    "nodes": "node/",
    "jobs": "job/",
    "volumes": "volume/csi/",
    "plugins": "plugin/csi/",
    "namespaces": "namespace/",
}
_EVERYWHERE = ("nodes", "plugins", "namespaces")
OF_A_RECORD = frozenset(
    {"allocations", "evaluations", "versions", "deployment", "plan", "evaluate", "submission", "dispatch"}
)
"""Ends of paths below a job or client; a job's own id may have slashes too."""


def kind(path: str) -> str:
    """Returns what a list holds; empty where the path is no list. What a client runs is listed whole."""
    last = path.rpartition("/")[2]
    if path.startswith("job/") and last in ("allocations", "evaluations"):
        return last
    if path.startswith("node/") and last == "allocations":
        return "whole allocations"
    return path if path in (*_KINDS, "allocations", "evaluations", "services") else ""


def stub(path: str, record: dict[str, Any]) -> dict[str, Any]:
    """Returns a record as a list shows it."""
    fields = STUBS.get(kind(path))
    shown = record if fields is None else {name: record[name] for name in fields if name in record}
    if fields and "Drain" in fields and "DrainStrategy" in record:
        shown["Drain"] = bool(record["DrainStrategy"])
    for flag in ("Periodic", "ParameterizedJob"):
        if flag in shown:
            shown[flag] = bool(shown[flag])
    return shown


def listed(
    records: Records, asked: Asked, value: Callable[[Any], Any], stands: Sequence[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Returns a list: of what stands for it, or of what the records have, in the order in which it was put there."""
    what = kind(asked.path)
    if asked.path in records:
        return [stub(asked.path, body) for body in stands if _is_in(body, asked, what)]
    bodies = [value(records[key]) for key in _keys(records, what)] if what != "services" else []
    return [stub(asked.path, body) for body in bodies if body and _is_asked_for(body, asked, what)]


def _keys(records: Records, what: str) -> Iterator[str]:
    prefix = _KINDS.get(what) or what.removeprefix("whole ").removesuffix("s") + "/"
    for key in records:
        path = key.partition("@")[0]
        if path.startswith(prefix) and path.rpartition("/")[2] not in OF_A_RECORD:
            yield key


def _is_in(body: dict[str, Any], asked: Asked, what: str) -> bool:
    everywhere = what in _EVERYWHERE or what.startswith("whole") or asked.namespace == EVERY
    return everywhere or asked.namespace == body.get("Namespace", "default")


def _is_asked_for(body: dict[str, Any], asked: Asked, what: str) -> bool:
    if what.startswith("whole"):
        return bool(body.get("NodeID") == asked.path.split("/")[1])
    if asked.path.startswith("job/") and body.get("JobID") != asked.path.removeprefix("job/").rpartition("/")[0]:
        return False
    if what == "evaluations" and body.get("Status") != asked.query.get("status", body.get("Status")):
        return False
    return _is_in(body, asked, what) and str(body.get("ID", "")).startswith(asked.query.get("prefix", ""))
