"""Whatever happens to a server and its logs, a restore has exactly a moment's transactions, or is refused."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import reduce
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nomad_stateful.agent.copies.model import HeldError
from nomad_stateful.databases.mysql.archive import facts
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from tests.unit.agent.world import BUCKET, START, FakeServer, World, emptied

STEPS = (
    *("commit", "commit", "round", "round", "start", "kill", "rotate", "purge", "lose", "forgive", "restart"),
    *("forget", "reset"),
)


def play(world: World, step: str, seen: list[Any]) -> None:
    server = world.server
    alone: dict[str, Callable[[], object]] = {
        "commit": server.commit,
        "rotate": server.close_log,
        "reset": server.reset,
        "forget": world.remove_until,
    }
    if step in alone:
        alone[step]()
    elif step == "round":
        with suppress(HeldError):
            world.round()
            seen.append("vouched")
    elif step in ("start", "kill"):
        server.stop(kill=step == "kill")
        server.start()
        world.restart(f"{len(seen)}")
    elif step == "purge" and len(server.listed()) > 1:
        server.purge(server.listed()[0])
    elif step in ("lose", "forgive"):
        # A log with a transaction, before anybody copies it; and somebody goes on from a snapshot.
        server.commit()
        server.close_log()
        server.purge(server.listed()[-2], unlisted=len(seen) % 2 == 0)
        if step == "forgive":
            world.remove_until()
    elif step == "restart":
        world.restart(f"{len(seen)}")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(STEPS), min_size=4, max_size=14), back=st.integers(0, 30))
def test_a_moment_is_restored_exactly_or_refused(client: Any, steps: list[str], back: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = FakeServer(Path(folder) / "data")
        server.start()
        world, seen = World(server, emptied(client)), list[Any]()
        anew = list[datetime]()
        history = [(START, server.executed)]
        for step in itertools.chain(steps, ["commit", "round"]):
            anew += [server.now] * (step == "reset" and bool(server.executed))
            play(world, step, seen)
            history.append((server.now, server.executed))
        if (until := world.until) is None:
            return
        moment = max(START + timedelta(seconds=2), until.moment - timedelta(seconds=back))
        try:
            found = world.restored(START + timedelta(seconds=1), moment)
        except PointInTimeError:
            # Never without a reason.
            assert back or {"purge", "lose", "forgive", "kill", "start", "forget", "reset"} & set(steps)
            return
        had = next(executed for at, executed in reversed(history) if at <= moment)
        assert found.wanted == had
        bodies = (world.s3.get_object(Bucket=BUCKET, Key=one.key)["Body"] for one in found.logs)
        held = reduce(GtidSet.__or__, (facts("log", body).own for body in bodies), found.begins)
        assert found.wanted <= held
        # Other transactions have their numbers then; whoever removes `until` goes on from a snapshot of after that.
        assert {"forget", "forgive"} & set(steps) or not any(at < moment for at in anew)
