"""The allocations of a job: which runs, on which client, and the address of its port."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path

Json = dict[str, Any]

LIVE = frozenset({"pending", "running"})
ENDED = frozenset({"complete", "failed", "lost"})
"""Client statuses of an allocation; `unknown` is in neither."""


@dataclass(frozen=True)
class Endpoint:
    """A running allocation and the address of one of its ports."""

    allocation_id: str
    node_id: str
    node_name: str
    host: str
    port: int


def endpoint(nomad: NomadApi, job_id: str, namespace: str, group: str, port_label: str) -> Endpoint | None:
    """Returns the newest running allocation of a job's group, or None. Raises NomadError."""
    return endpoint_of(nomad, allocations(nomad, job_id, namespace), namespace, group, port_label)


def endpoint_of(nomad: NomadApi, stubs: Iterable[Json], namespace: str, group: str, port_label: str) -> Endpoint | None:
    """Returns the newest running allocation of a group, of those that Nomad listed, or None. Raises NomadError."""
    one = newest_running(stubs, group)
    if one is None:
        return None
    allocation = nomad.get(f"allocation/{one['ID']}", namespace=namespace)
    host, port = _address(allocation, port_label)
    return Endpoint(one["ID"], one["NodeID"], one["NodeName"], host, port)


def allocations(nomad: NomadApi, job_id: str, namespace: str) -> list[Json]:
    """Returns what Nomad lists of a job's allocations, those that ended too; none of a job that is not there.

    Raises NomadError.
    """
    return list(nomad.get(f"{job_path(job_id)}/allocations", namespace=namespace) or [])


def newest(stubs: Iterable[Json]) -> Json | None:
    """Returns the allocation that was made last, or None where there is none."""
    return max(stubs, key=lambda stub: int(stub["CreateIndex"]), default=None)


def newest_running(stubs: Iterable[Json], group: str) -> Json | None:
    """Returns the allocation of a group that runs and was made last, or None where none runs."""
    return newest(stub for stub in stubs if stub["TaskGroup"] == group and is_running(stub))


def is_running(stub: Mapping[str, Any]) -> bool:
    """Returns whether Nomad wants the allocation to run and its client says it does."""
    return bool(stub["DesiredStatus"] == "run" and stub["ClientStatus"] == "running")


def is_unheard(stub: Mapping[str, Any]) -> bool:
    """Returns whether Nomad wants the allocation to run, and hears nothing of its client: it may run."""
    return bool(stub["DesiredStatus"] == "run" and stub["ClientStatus"] == "unknown")


def is_live(stub: Mapping[str, Any]) -> bool:
    """Returns whether Nomad wants the allocation to run, and its client has not said that it ended, or gone away."""
    return bool(stub["DesiredStatus"] == "run" and stub["ClientStatus"] in LIVE)


def has_succeeded(stub: Mapping[str, Any], *tasks: str) -> bool:
    """Returns whether an allocation has ended, and all of its tasks, or those that are named, with exit code 0.

    Nomad calls one complete, too, that was stopped or drained: a task that it kills has not failed. Sidecars are
    killed in the end: where there are some, name the others.
    """
    states = stub.get("TaskStates") or {}
    ended = [_succeeded(states.get(name) or {}) for name in tasks or states]
    return stub["ClientStatus"] == "complete" and bool(ended) and all(ended)


def _succeeded(state: Json) -> bool:
    ends = [event for event in state.get("Events") or [] if event.get("Type") == "Terminated"]
    said = {"exit_code": ends[-1].get("ExitCode"), **(ends[-1].get("Details") or {})} if ends else {}
    return str(said.get("exit_code")) == "0" and said.get("signal", "0") == "0" and not said.get("exit_message")


def is_healthy(stub: Json) -> bool:
    """Returns whether an allocation runs and its deployment found it healthy."""
    deployment = stub.get("DeploymentStatus") or {}
    return is_running(stub) and deployment.get("Healthy") is True


def is_unhealthy(stub: Mapping[str, Any]) -> bool:
    """Returns whether its deployment found the allocation unhealthy."""
    return (stub.get("DeploymentStatus") or {}).get("Healthy") is False


def is_unjudged(stub: Mapping[str, Any]) -> bool:
    """Returns whether no deployment has said yet how the allocation is."""
    return (stub.get("DeploymentStatus") or {}).get("Healthy") is None


def last_events(stub: Json, newest: int = 3) -> list[str]:
    """Returns an allocation's last task events, for an error message."""
    lines = []
    for task, state in (stub.get("TaskStates") or {}).items():
        events = [event.get("DisplayMessage") or event.get("Type", "") for event in state.get("Events") or []]
        lines += [f"{stub['ID'][:8]} on {stub['NodeName']}, task {task}: {text}" for text in events[-newest:] if text]
    return lines


def checks(api: NomadApi, stub: Json, namespace: str) -> dict[str, str]:
    """Returns an allocation's checks by name, with what a failing one said, in a line, and "" of one that passes.

    Consul's checks of services are not among them. Raises NomadError.
    """
    found = api.find(f"client/allocation/{stub['ID']}/checks", namespace=namespace) or {}
    said = {one.get("Check") or key: one for key, one in found.items()}
    return {
        name: "" if one.get("Status") == "success" else " ".join(str(one.get("Output") or one["Status"]).split())
        for name, one in said.items()
    }


def _address(allocation: Json, port_label: str) -> tuple[str, int]:
    shared = (allocation.get("AllocatedResources") or {}).get("Shared") or {}
    for port in shared.get("Ports") or []:
        if port["Label"] == port_label:
            return port["HostIP"], int(port["Value"])
    return "", 0
