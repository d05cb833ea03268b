"""Restores of a replication group to moments around the loss of its primary, with everything in its image."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml

from sandbox.stack import stack_file
from tests import official_parts
from tests.sandbox.test_dumps_in_s3 import PORT
from tests.sandbox.test_point_in_time import Rows, between, iso, restore, rows_in, until
from tools.faults.lane import addresses, settings_of
from tools.faults.routed import Routed
from tools.faults.stack_settings import with_server
from tools.trial.ground import claim
from tools.trial.running import Running, eventually
from tools.trial.servers import MYSQL_GROUP

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

AWAY_S = 20.0


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    ground = replace(claim(), servers=MYSQL_GROUP.members, clients=MYSQL_GROUP.members)
    running = Running.prepare(tmp_path_factory.mktemp("project"), ground)
    running.server = MYSQL_GROUP
    path = running.project / "Pulumi.dev.yaml"
    with_server(path, MYSQL_GROUP, ground.zones)
    whole = yaml.safe_load(path.read_text())
    s3 = {"endpoint": f"http://{ground.gateway}:{PORT}"}
    whole["config"]["nomad-stateful:mysql"]["pointInTime"] = {"s3": s3}
    path.write_text(yaml.safe_dump(whole))
    images = [word for image in stack_file.images(path) for word in ("--image", image)]
    with running.up(*official_parts.words(), *images):
        yield running


@pytest.fixture
def rows(stack: Running) -> Iterator[Rows]:
    """Rows that are written meanwhile, through the routers, to an empty table."""
    stack.sql(stack.server_endpoint(), "DROP DATABASE IF EXISTS faults")
    rows = Rows(Routed(stack.nomad, MYSQL_GROUP, hosts=list(addresses(settings_of(stack)).values())))
    with rows.written():
        rows.await_more(40)
        yield rows


def take_snapshot(stack: Running, volume: str) -> float:
    """Takes a snapshot of a member's volume, and returns when."""
    stack.ec2.create_snapshot(VolumeId=stack.outputs()["volumes"][volume]["id"])
    return time.time()


def lose(stack: Running, client: str, fault: str) -> None:
    """Ends the primary's server, or cuts its zone off and heals it later."""
    if fault == "killed":
        stack.ctl("enter", client, "pkill", "-9", "-x", "mysqld")
        return
    zone = next(str(one.zone) for one in settings_of(stack).instances if one.name == client)
    stack.ctl("cut", zone)
    back = time.time() + AWAY_S
    eventually(lambda: time.time() > back or None, AWAY_S + 10, "the zone is to be healed")
    stack.ctl("heal", zone)


def longest_pause(rows: Rows, since: float) -> tuple[float, float]:
    times = [one.acknowledged for one in rows.commits if one.acknowledged > since]
    return max(itertools.pairwise(times), key=lambda pair: pair[1] - pair[0])


def is_exactly_of(rows: Rows, moment: float, there: set[int], found: int) -> bool:
    """Whether so many rows may be those of a moment: a commit without an answer may be there or not."""
    acknowledged = {one.number: one for one in rows.commits}
    least = sum(one.acknowledged <= moment for one in rows.commits)
    following = min((one.number for one in rows.commits if one.asked > moment), default=max(there) + 1)
    unanswered = [number for number in there if number not in acknowledged and number < following]
    return least <= found <= least + len(unanswered)


@pytest.mark.parametrize("fault", ["killed", "cut off"])
def test_moments_around_the_loss_of_the_primary_have_exactly_their_rows(stack: Running, rows: Rows, fault: str) -> None:
    eventually(lambda: until(stack) or None, 180, "the first copy", stack.diagnosis)
    # A secondary's: it may be behind.
    first = stack.server_endpoint()
    volumes = {f"mysql-server-{number + 1}": f"mysql[{number}]" for number in range(MYSQL_GROUP.members)}
    jobs = {stack.nomad.get(f"allocation/{first.allocation_id}", namespace="default")["JobID"]}
    volume = next(volumes[job] for job in volumes if job not in jobs)
    taken = take_snapshot(stack, volume)
    eventually(lambda: time.time() > taken + 25 or None, 60, "moments after the snapshot")
    rows.await_more(40)
    struck = time.time()
    lose(stack, first.node_name, fault)
    rows.await_more(40)
    after = time.time()
    eventually(lambda: time.time() > after + 20 or None, 60, "moments after the loss")
    later = time.time()
    eventually(lambda: until(stack) > later or None, 240, "the logs of the next primary", stack.diagnosis)
    began, ended = longest_pause(rows, struck - 1)
    chance = random.Random()
    moments: dict[str, float] = {
        "before": between(rows.commits, taken + 16, struck, chance)[0],
        "as the writes stop": began + (ended - began) / 10,
        "while nobody writes": (began + ended) / 2,
        "right after": between(rows.commits, ended, ended + 3, chance)[0],
        "later": between(rows.commits, after, later, chance)[0],
    }
    _, numbers = Routed(stack.nomad, MYSQL_GROUP, hosts=list(addresses(settings_of(stack)).values())).rows()
    now = stack.server_endpoint()
    print(f"\n{fault}: primary on {first.node_name}, then on {now.node_name}; {ended - began:.1f} s without writes")
    for name, moment in moments.items():
        report: dict[str, Any] = restore(stack, "drill", volume, "--to", iso(moment))
        expected = sum(one.acknowledged <= moment for one in rows.commits)
        found = rows_in(report)
        print(f"{name:>20} {moment - struck:>8.2f} s: {expected} acknowledged, {found} restored, {report['logs']} logs")
        assert is_exactly_of(rows, moment, set(numbers), found)
