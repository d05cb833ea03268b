"""What operators change of a running group: each member gets it under a writer, with the judge on what clients saw."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import MappingProxyType

import pytest

from sandbox.docker import older_mysql
from tests import official_parts
from tools.faults.lane import Lane, addresses, open_lane
from tools.faults.members import routed, watched
from tools.faults.model import Fault
from tools.faults.plan import Step
from tools.faults.runner import bring, run_step
from tools.faults.stack_settings import StackSettings
from tools.faults.table import Result
from tools.trial.ground import claim
from tools.trial.running import ended_well
from tools.trial.servers import MYSQL_GROUP

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

OLDER, NEWER = older_mysql.SERIES, "9.7"
PLANNED_S = 2.0
"""What is wanted of the writer's longest pause; a longer one is told."""


@pytest.fixture(scope="module")
def lane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lane]:
    """A group of the older server, with two clients in each zone."""
    settings = MappingProxyType({**MYSQL_GROUP.settings, "image": f"mysql:{OLDER}"})
    ground = replace(claim(), servers=3, clients=6)
    folder, server = tmp_path_factory.mktemp("lane"), replace(MYSQL_GROUP, settings=settings)
    with open_lane(0, ground, folder, official_parts.folder(), server, [f"mysql:{NEWER}"]) as lane:
        # Whether a mounted ext4 may grow is the machine's matter.
        stack = StackSettings.read(lane.stack_file)
        stack.volume(server.volume)["fsType"] = "xfs"
        stack.write(lane.stack_file)
        bring(lane, "deployed")
        yield lane


def changed(lane: Lane, name: str, change: Callable[[Lane], str]) -> Result:
    """Makes a change, and looks at everything that has to hold of a group afterwards."""

    def run(lane: Lane, _draw: random.Random) -> str:
        return "; ".join(watched(lane, lambda: change(lane)))

    fault = Fault(name, "group", run, members=3, servers=3, target_s=PLANNED_S)
    result = Result(1, name, "group")
    run_step(lane, Step(1, fault, 0), result)
    took = f"{result.seconds:.0f} s, {result.acknowledged} rows, {len(result.lost)} lost"
    print(f"\n{name}: {took}; {result.paused}{result.seen}")
    return result


def primary(lane: Lane) -> str:
    """The client of the primary."""
    return lane.stack.server_endpoint().node_name


def versions(lane: Lane) -> set[str]:
    """The versions that the members have."""
    members = "SELECT DISTINCT member_version FROM performance_schema.replication_group_members"
    return {str(version) for (version,) in lane.stack.sql(lane.stack.server_endpoint(), members)}


def assert_whole(result: Result) -> None:
    if result.failed:
        pytest.fail("\n".join([*result.problems, *result.orphans, f"lost: {result.lost}"]))
    assert result.acknowledged > 0


def updated(lane: Lane, setting: str, value: str) -> Callable[[Lane], str]:
    """Returns what gives a setting another value, and brings the members to it."""

    def change(lane: Lane) -> str:
        was = primary(lane)
        lane.set(setting, value)
        lane.injected()
        ended_well(lane.pulumi("up", "--yes", "--skip-preview"))
        return f"primary on {was}, then on {primary(lane)}"

    return change


def test_members_get_another_version_one_by_one(lane: Lane) -> None:
    [older] = versions(lane)
    assert older.startswith(OLDER)
    result = changed(lane, f"MySQL {older} becomes {NEWER}", updated(lane, lane.server.key("image"), f"mysql:{NEWER}"))
    assert_whole(result)
    [newer] = versions(lane)
    assert newer.startswith(NEWER)


def test_members_volumes_grow(lane: Lane) -> None:
    assert_whole(changed(lane, "volumes grow", updated(lane, "nomad-stateful:volumes[0].sizeGib", "2")))


def test_members_volumes_are_registered_anew_one_by_one(lane: Lane) -> None:
    """Nomad changes no mount flags of a registration: it is deleted first, and before that its member stops."""
    flags = updated(lane, "nomad-stateful:volumes[0].mountFlags[0]", "noatime")
    assert_whole(changed(lane, "other mount flags", flags))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_member_moves_to_another_client_of_its_zone(lane: Lane, number: int) -> None:
    def at() -> str:
        host = lane.stack.nomad.get(f"service/{lane.server.member_jobs[number]}")[0]["Address"]
        return next(client for client, address in addresses(lane.settings).items() if address == host)

    def drain(lane: Lane) -> str:
        client, was = at(), primary(lane)
        lane.injected()
        ended_well(lane.operate("drain", client, "--yes"))
        ended_well(lane.operate("drain", client, "--undo", "--yes"))
        moved = at()
        assert moved != client, f"the member is on {client}, which was drained"
        return f"moved from {client} to {moved}; primary on {was}, then on {primary(lane)}"

    # Programs ask the router of their own client, which goes on.
    hosts = addresses(lane.settings)
    routed(lane).hosts = [host for client, host in hosts.items() if client != at()]
    try:
        assert_whole(changed(lane, f"drain of member {number + 1}'s client", drain))
    finally:
        routed(lane).hosts = list(hosts.values())
