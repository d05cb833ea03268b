"""The same of a database's replication group: what makes its alerts fire, and what its sections say to do then."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial

from nomad_stateful.nomad.running_job import Endpoint, endpoint
from tests.sandbox.alerts import acting
from tests.sandbox.alerts.acting import run, up
from tests.sandbox.alerts.causes import Cause, cause
from tests.sandbox.alerts.prometheus import Watch
from tools.trial.members import is_primary
from tools.trial.servers import MYSQL_GROUP

SERVICE = MYSQL_GROUP.job
GROUP_CAUSES: list[Cause] = []
of_group = partial(cause, into=GROUP_CAUSES, service=SERVICE)


def members(watch: Watch) -> dict[str, Endpoint]:
    """Returns where each member answers, by its job, the primary last."""
    found = {job: endpoint(watch.stack.nomad, job, "default", "mysql", "db") for job in MYSQL_GROUP.member_jobs}
    known = {job: at for job, at in found.items() if at is not None}
    return dict(sorted(known.items(), key=lambda one: is_primary(one[1].host)))


def signalled(watch: Watch, signal: str, *clients: str) -> None:
    """Sends the servers of clients a signal."""
    for client in clients:
        # In brackets, so that it is not in this script's own words.
        acting.inside(watch, client, f"kill -{signal} $(pgrep -f '[m]{MYSQL_GROUP.running[1:]}')")


@of_group("GroupMemberAway", "a secondary's job is stopped", severity="critical")
def away(watch: Watch) -> Iterator[None]:
    run(watch, "nomad", "job", "stop", next(iter(members(watch))))
    yield
    up(watch)


@of_group("GroupMemberLags", "a secondary's tables are locked", severity="warning")
def lags(watch: Watch) -> Iterator[None]:
    stack = watch.stack
    primary = stack.server_endpoint()
    stack.sql(primary, "CREATE DATABASE alerts", "CREATE TABLE alerts.rows_of (id INT PRIMARY KEY)")
    behind = next(iter(members(watch).values()))
    with closing(stack.server.login(behind.host, behind.port, stack.password)) as session:
        session.cursor().execute("FLUSH TABLES WITH READ LOCK")
        stack.sql(primary, "INSERT INTO alerts.rows_of VALUES (1)")
        yield


@of_group("GroupWithoutPrimary", "the primary and another member are paused", severity="critical")
def without_primary(watch: Watch) -> Iterator[None]:
    _, *paused = [at.node_name for at in members(watch).values()]
    signalled(watch, "STOP", *paused)
    yield
    signalled(watch, "CONT", *paused)


@of_group("RouterWithoutPrimary", "the same", client="client-1", severity="critical")
def router_without_primary(watch: Watch) -> Iterator[None]:
    yield from without_primary.__wrapped__(watch)  # type: ignore[attr-defined]


@of_group("GroupWithTwoPrimaries", "a file with one more (no fault is known that makes two)", severity="critical")
def two_primaries(watch: Watch) -> Iterator[None]:
    file = watch.textfiles / "primary.prom"
    file.write_text(f'nomad_stateful_group_member_primary{{service="{SERVICE}",member="of a file"}} 1\n')
    yield
    file.unlink()
