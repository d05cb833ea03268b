"""The check that data persists: rows survive a purge of the job and a drain of its client."""

import secrets
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from nomad_stateful.columns import columns
from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.operate import group, stack
from nomad_stateful.operate.cluster import Cluster, wait_for
from nomad_stateful.operate.database import Database, Row
from nomad_stateful.operate.dumps import restoring
from nomad_stateful.operate.engine import Engine
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Frame, framed
from nomad_stateful.operate.ownership import database_job

ROWS_PER_STEP = 5


class RowsMissingError(Exception):
    """The server lost rows that it had acknowledged."""


@dataclass(frozen=True)
class Step:
    """One line of the result: how many rows which allocation read and wrote."""

    what: str
    at: Endpoint
    written: int
    expected: int
    read: int


@dataclass
class Proof:
    """The rows written so far, and the steps taken."""

    run_id: str = field(default_factory=lambda: secrets.token_hex(16))
    rows: list[Row] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def verify(frame: Frame, timeout_s: float = 180) -> Proof:
    """Writes rows, purges the job and registers it again, drains its client; reads every row back after each.

    The job comes back as it ran: pending changes of the settings stay pending. Raises RowsMissingError,
    WrongClusterError, and TimedOutError when the server does not come back.
    """
    server = stack.database_outputs()
    with frame.cluster(server.volume) as nomad, frame.turn(nomad, "", Engine(stack.chosen())):
        return _verified(nomad, server, timeout_s)


def _verified(nomad: NomadApi, server: stack.DatabaseOutputs, timeout_s: float) -> Proof:
    if left := restoring(nomad, server):
        raise OperateError(left)
    database = Database.of(server)
    proof = Proof()

    serving = _serving(nomad, server, timeout_s)
    cluster = database_job(nomad, server)
    first = cluster.endpoint(timeout_s=timeout_s)
    _check(proof, database, serving(first), "first allocation", timeout_s)

    print(f"==> stopping and purging {cluster.job_id}, then registering it again as it was", flush=True)
    cluster.purge_and_register()
    second = cluster.endpoint(not_allocation=first.allocation_id, timeout_s=timeout_s)
    _check(proof, database, serving(second), "after purge and redeploy", timeout_s)

    third = serving(drain(*_movable(nomad, server, timeout_s), timeout_s))
    _check(proof, database, third, "after drain", timeout_s, write=False)
    database.delete(third, proof.run_id)
    return proof


def _serving(nomad: NomadApi, server: stack.DatabaseOutputs, timeout_s: float) -> Callable[[Endpoint], Endpoint]:
    """Returns what leads from a server that runs to who answers clients: a single server does so itself.

    Of a group it is the primary, by a router, once every member is ONLINE.
    """
    if not server.members:
        return lambda at: at
    router = Cluster(nomad, server.job, server.namespace, group="router", port_label="db")
    wrong: list[str] = []

    def primary() -> Endpoint | None:
        found = group.states(nomad, server)
        wrong[:] = [str(what) for _, what in group.problems(found)]
        return None if wrong else next(one.at for one in found if one.is_primary)

    def serving(_at: Endpoint) -> Endpoint:
        said = "`nomad-stateful doctor` says more."
        at = wait_for(lambda: f"all members are ONLINE: {'; '.join(wrong)}", primary, timeout_s, said)
        by = router.endpoint(timeout_s=timeout_s)
        return replace(at, host=by.host, port=by.port)

    return serving


def _movable(nomad: NomadApi, server: stack.DatabaseOutputs, timeout_s: float) -> tuple[Cluster, Endpoint, str]:
    """Returns the server's job, where it runs, and its zone.

    Of a group the primary's, which may be another one by now, or another member's where its zone has no other client.
    """
    first = database_job(nomad, server)
    found = []
    for one in sorted(server.servers, key=lambda one: one.job != first.job_id):
        cluster = Cluster(nomad, one.job, server.namespace, group=server.kind.name, port_label="db")
        at = cluster.endpoint(timeout_s=timeout_s)
        found.append((cluster, at, one.zone))
        if _others(nomad, at, one.zone):
            return found[-1]
    return found[0]


def _others(nomad: NomadApi, at: Endpoint, zone: str) -> list[str]:
    free = [stub for stub in clients.listed(nomad) if stub.id != at.node_id and stub.takes_work]
    return [one.name for one in clients.read(nomad, free) if one.zone == zone]


def drain(cluster: Cluster, at: Endpoint, zone: str, timeout_s: float) -> Endpoint:
    """Drains the job's client until the job runs on another one of the zone; returns where. Raises OperateError."""
    others = _others(cluster.nomad, at, zone)
    if not others:
        raise OperateError(
            f"{at.node_name} is the only ready client in {zone}, and a volume cannot leave its zone: "
            "start a second client there, and repeat the command"
        )
    print(f"==> draining {at.node_name}; in {zone} there is also {', '.join(others)}", flush=True)
    clients.drain(cluster.nomad, at.node_id, 300, keep_system=True, message="nomad-stateful verify")
    try:
        return cluster.endpoint(not_on=at.node_id, timeout_s=timeout_s)
    finally:
        clients.undrain(cluster.nomad, at.node_id)


def _check(proof: Proof, database: Database, at: Endpoint, what: str, timeout_s: float, *, write: bool = True) -> None:
    """Reads back everything written so far, then writes rows with this allocation's id."""
    database.wait_until_it_answers(at, timeout_s)
    found = database.read(at, proof.run_id) if proof.rows else []
    missing = [row for row in proof.rows if row not in found]
    if missing:
        lines = "\n".join(f"  row {row.number}, written by {row.allocation_id} on {row.client}" for row in missing)
        raise RowsMissingError(
            f"{what}: {len(missing)} of {len(proof.rows)} rows are missing, read by {at.allocation_id} on "
            f"{at.node_name}:\n{lines}"
        )
    written = database.write(at, proof.run_id, first=len(proof.rows) + 1, count=ROWS_PER_STEP) if write else []
    proof.steps.append(Step(what, at, len(written), len(proof.rows), len(found)))
    proof.rows += written
    print(f"    {what}: {at.allocation_id[:8]} on {at.node_name} answers; {len(found)} rows read back", flush=True)


def table(proof: Proof) -> str:
    """Returns the result as a table: which allocation on which client read and wrote how many rows."""
    header = ("step", "allocation", "client", "read back", "written")
    lines = [
        (step.what, step.at.allocation_id, step.at.node_name, f"{step.read} of {step.expected}", str(step.written))
        for step in proof.steps
    ]
    return columns([header, *lines], ruled=True)


def _run(frame: Frame, _known: Namespace) -> None:
    proof = verify(frame)
    print(f"\n{table(proof)}\n\nAll {len(proof.rows)} rows were read back after each step.")


COMMAND = framed(
    "verify", "check that rows survive a purge of the job and a drain of its client", _run, answered=lambda _: True
)
