"""Whether what a program wrote to its volume is there after its job was purged and came back elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.running_job import is_running
from nomad_stateful.operate.cluster import Cluster, wait_for
from sandbox.settings import SandboxError
from sandbox.stack.stack import Stack
from tools.examples.stacks import Workplace

GROUP = "container"


Running = dict[str, dict[str, Any]]
"""Running allocations by name, which tells the instances of a job apart."""


def outlive(place: Workplace, stack: Stack, nomad: NomadApi, job: str, *, moves: bool) -> list[str]:
    """Purges a writer's job and brings it back, on another client where it can move; says what was read back.

    The writer appends its allocation's id to a file of the volume and prints the file. Raises SandboxError.
    """
    cluster = Cluster(nomad, job, "default", GROUP, "")
    first = _running(nomad, job, set())
    for stub in first.values():
        _printed(place, stub["ID"], [stub["ID"]])
    cluster.stop_and_purge()
    left = {stub["NodeID"] for stub in first.values()} if moves else set()
    for node_id in left:
        clients.set_eligible(nomad, node_id, eligible=False)
    try:
        stack.up(refresh=True)
        second = _running(nomad, job, {stub["ID"] for stub in first.values()})
    finally:
        for node_id in left:
            clients.set_eligible(nomad, node_id, eligible=True)
    return [_compared(place, name, stub, second[name], moves=moves) for name, stub in sorted(first.items())]


def _compared(place: Workplace, name: str, old: dict[str, Any], new: dict[str, Any], *, moves: bool) -> str:
    if moves and new["NodeID"] == old["NodeID"]:
        raise SandboxError(f"{name} came back on {new['NodeName']}, and was to come back on another client")
    _printed(place, new["ID"], [old["ID"], new["ID"]])
    return f"{name}: {new['ID'][:8]} on {new['NodeName']} read what {old['ID'][:8]} on {old['NodeName']} wrote"


def _running(nomad: NomadApi, job: str, not_these: set[str]) -> Running:
    """As many allocations as the job wants, once they run, without the ones that were there before."""

    def probe() -> Running | None:
        count = sum(group["Count"] for group in nomad.get(f"job/{job}")["TaskGroups"])
        stubs = [stub for stub in nomad.get(f"job/{job}/allocations") if is_running(stub)]
        found = {stub["Name"]: stub for stub in stubs if stub["ID"] not in not_these}
        return found if len(found) == count else None

    return wait_for(f"{job} runs", probe, 120, f"See `nomad job status {job}`.")


def seen_by(place: Workplace, nomad: NomadApi, job: str, writers: Iterable[str]) -> str:
    """Whether a reader elsewhere prints what the writers wrote."""
    reader = Cluster(nomad, job, "default", GROUP, "").endpoint()
    _printed(place, reader.allocation_id, writers)
    return f"{job} on {reader.node_name} read what {len(list(writers))} writers wrote"


def _printed(place: Workplace, allocation_id: str, lines: Iterable[str]) -> None:
    """Waits until an allocation has printed every line."""
    wanted = set(lines)

    def probe() -> bool | None:
        return True if wanted <= set(place.run("nomad", "alloc", "logs", allocation_id).split()) else None

    wait_for(
        f"{allocation_id[:8]} prints {len(wanted)} allocations", probe, 60, f"See `nomad alloc logs {allocation_id}`."
    )
