"""What each example needs beforehand, and how its result is checked."""

# ruff: noqa: ARG001 - every preparation and check is called alike

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from nomad_stateful.nomad.api import NomadApi
from sandbox.docker import agent
from sandbox.stack.stack import Stack
from tools.examples import file_system, files
from tools.examples.stacks import Workplace

Prepare = Callable[[Workplace, str], None]
Check = Callable[[Workplace, Stack, NomadApi], list[str]]


@dataclass(frozen=True)
class Example:
    """One example: its stack's name, what it shows, what is made before it, and its check."""

    name: str
    shows: str
    prepare: Prepare
    check: Check
    servers: int = 1
    """Nomad servers of the sandbox that it needs, each in a zone."""


def _nothing(place: Workplace, name: str) -> None:
    """Needs nothing."""


def _group(place: Workplace, name: str) -> None:
    place.fill_in(name, {"nomad-stateful-agent:TAG": f"{agent.REPOSITORY}:{agent.tag()}"})


def _verified(place: Workplace, stack: Stack, nomad: NomadApi) -> list[str]:
    printed = place.operate(stack.name, "verify")
    return [printed.strip().splitlines()[-1]]


def _efs_checked(place: Workplace, stack: Stack, nomad: NomadApi) -> list[str]:
    writers = [stub["ID"] for stub in nomad.get("job/writer/allocations") if stub["ClientStatus"] == "running"]
    return [
        files.seen_by(place, nomad, "reader", writers),
        *files.outlive(place, stack, nomad, "writer", moves=False),
    ]


def _writer_moves(place: Workplace, stack: Stack, nomad: NomadApi) -> list[str]:
    return files.outlive(place, stack, nomad, "writer", moves=True)


def _writer_stays(place: Workplace, stack: Stack, nomad: NomadApi) -> list[str]:
    return files.outlive(place, stack, nomad, "writer", moves=False)


def _restored(place: Workplace, stack: Stack, nomad: NomadApi) -> list[str]:
    return file_system.rows_of_the_snapshot(place, stack)


EXAMPLES = (
    Example("ebs-mysql", "MySQL on an EBS volume", _nothing, _verified),
    Example("mysql-group", "MySQL in three zones", _group, _verified, servers=3),
    Example("postgres", "PostgreSQL on an EBS volume, dumped to a second one", _nothing, _verified),
    Example("efs", "several writers on EFS, a reader elsewhere", file_system.make_efs, _efs_checked),
    Example("democratic-csi", "an NFS share made by the driver", file_system.name_nas, _writer_moves),
    Example("hostpath", "a folder of one client", _nothing, _writer_stays),
    Example("per-alloc", "a volume for each instance, over two zones", _nothing, _writer_stays),
    Example("restore", "MySQL on a volume restored from a snapshot", file_system.take_snapshot, _restored),
)


def resources_left(place: Workplace) -> list[str]:
    """Jobs and volumes that Nomad still has."""
    with closing(NomadApi.from_env(environ=place.environment())) as nomad:
        jobs = [f"job {job['ID']}" for job in nomad.get("jobs", namespace="*") if job["Status"] != "dead"]
        volumes = [f"volume {volume['ID']}" for volume in nomad.get("volumes", type="csi", namespace="*")]
    return jobs + volumes
