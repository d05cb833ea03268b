"""`nomad-stateful drain`: what it plans and refuses, in which order it acts, how it resumes after an interruption."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

import pytest

from nomad_stateful.ebs.ec2_client import Ec2Unavailable
from nomad_stateful.ebs.volumes import Attachment
from nomad_stateful.operate import frame, group
from nomad_stateful.operate.drain import command, node, plan
from nomad_stateful.operate.drain.command import plugins_elsewhere, undo
from nomad_stateful.operate.drain.plan import DrainPlan
from nomad_stateful.operate.drain.work import Drain, NotDrainedError, Options
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Frame, duration_s
from tests.fake_nomad import FakeNomad
from tests.fake_nomad.answers import Asked
from tests.unit.operate.drain.world import EXTERNAL, FIRST, SECOND, VOLUME, World, job

STOP, REST = "allocation/mysql-1/stop", "node/aaaa0001/drain"


@pytest.fixture
def world(nomad: FakeNomad) -> World:
    return World(nomad)


def planned(world: World, name: str = "client-1") -> DrainPlan:
    found = node.find(world.nomad.api, name)
    return plan.make(world.nomad.api, found, world.attached_to(found.instance_id))


def drained(world: World, deadline_s: float = 20, **options: Any) -> Drain:
    work = Drain(
        world.nomad.api, world.ebs, planned(world), Options(deadline_s, **options), say=lambda _: None, poll_s=0.001
    )
    work.run()
    return work


def moves(world: World) -> None:
    """The volume's way, one step for each look at it."""
    world.after = [lambda: None, world.unmount, world.detach, world.start_elsewhere]


def test_the_plan_says_where_each_consumer_can_go(world: World) -> None:
    found = planned(world)
    (leaving,) = found.consumers
    assert (leaving.allocation.job_id, list(leaving.clients), leaving.stays_down) == ("mysql", ["client-2"], "")
    assert [one.job_id for one in found.others] == ["web"]
    assert {one.job_id for one in found.plugins} == {"node", "controller"}
    told = plan.text(found, keep_system=False)
    assert "mysql (mysql-1) with volume data: can go to client-2" in told
    assert told.index("consumers of volumes") < told.index("everything else") < told.index("plugins and system jobs")


def ineligible(world: World) -> None:
    world.nomad.change(SECOND, SchedulingEligibility="ineligible")


def plugin_away(world: World) -> None:
    world.unhealthy_nodes.add("2")


def no_room(world: World) -> None:
    failed = {"g": {"DimensionExhausted": {"memory": 1}, "ConstraintFiltered": {"${node.unique.id} != x": 1}}}
    world.nomad.put("job/mysql/plan", {"FailedTGAllocs": failed})


def other_pool(world: World) -> None:
    world.nomad.change(SECOND, NodePool="batch")


@pytest.mark.parametrize(
    ("breaks", "why"),
    [
        (ineligible, "volume data needs a healthy node plugin ebs in z-a, and no other eligible client has one"),
        (plugin_away, "volume data needs a healthy node plugin ebs in z-a"),
        (no_room, "Nomad finds no room for it: memory (1 client)"),
        (other_pool, "datacenters and node pool"),
    ],
)
def test_a_consumer_that_nowhere_can_run_is_named_and_refused(
    world: World, breaks: Callable[[World], None], why: str
) -> None:
    breaks(world)
    found = planned(world)
    with pytest.raises(command.RefusedError, match=r"--leave-down") as refused:
        command.refuse(found, leave_down=False)
    assert why in str(refused.value)
    assert refused.value.exit_status == 4
    command.refuse(found, leave_down=True)
    assert world.did == []


def test_what_changed_before_the_answer_is_seen(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only other client that could take the consumer has gone."""
    monkeypatch.setattr(group, "others_away", lambda *_: "")
    monkeypatch.setattr(frame, "confirm", lambda *_, **__: ineligible(world))
    known = Namespace(deadline=20, ignore_system=False, stop_batch=False, leave_down=False)
    found = node.find(world.nomad.api, "client-1")
    with pytest.raises(command.RefusedError, match="mysql: volume data needs a healthy node plugin ebs in z-a"):
        command._drain(Frame("drain", yes=False), world.nomad.api, found, world.ebs, known)
    assert world.did == []


def test_a_member_of_a_group_that_lacks_another_one_is_refused(world: World) -> None:
    with pytest.raises(command.RefusedError, match="two members have to run, and db-2 is RECOVERING") as refused:
        command.refuse(planned(world), leave_down=True, has_to_stay=lambda one: f"{'db-2 is RECOVERING' * bool(one)}")
    assert "NODE is client-1: mysql (mysql-1) is a member of a replication group" in str(refused.value)
    assert world.did == []


def test_a_member_stops_once_the_others_of_its_group_are_there(world: World) -> None:
    moves(world)
    away = ["db-2 is RECOVERING", "db-2 is RECOVERING", ""]
    said: list[str] = []

    def has_to_stay(one: node.Allocation) -> str:
        assert one.job_id == "mysql"
        assert STOP not in world.did
        said.append(away.pop(0))
        return said[-1]

    work = Drain(world.nomad.api, world.ebs, planned(world), Options(20), poll_s=0.001, has_to_stay=has_to_stay)
    work.run()
    assert (away, len(said)) == ([], 3)


def test_a_member_is_not_stopped_while_another_one_of_its_group_is_away(world: World) -> None:
    plan_ = planned(world)
    work = Drain(world.nomad.api, None, plan_, Options(0), poll_s=0.001, has_to_stay=lambda _: "db-2 is OFFLINE")
    with pytest.raises(NotDrainedError, match="the others of its replication group are ONLINE: db-2 is OFFLINE"):
        work.run()


def test_a_client_that_is_down_is_refused(world: World) -> None:
    world.nomad.change(FIRST, Status="down")
    with pytest.raises(command.RefusedError, match="nomad-stateful recover"):
        command.refuse(planned(world, "aaaa0001"), leave_down=True)


def test_consumers_stop_first_and_the_rest_is_drained_once_the_volume_is_seen_detached(world: World) -> None:
    moves(world)
    seen: list[tuple[set[str], list[Attachment]]] = []
    rest = world.nomad.after[f"PUT {REST}"]

    def noting(asked: Asked) -> None:
        seen.append((set(world.claimed_by), list(world.attached)))
        rest(asked)

    world.nomad.after[f"PUT {REST}"] = noting
    work = drained(world)
    assert world.did == ["node/aaaa0001/eligibility", STOP, REST]
    assert seen == [(set(), [Attachment("i-2", "/dev/xvdaa", "attached")])]
    assert work.movers[0].runs_on == "client-2"


def test_a_throttled_answer_does_not_end_a_drain(world: World) -> None:
    moves(world)
    state, throttled = world.state, [True, True]

    def once(volume_id: str) -> Any:
        if throttled:
            throttled.pop()
            raise Ec2Unavailable("EC2 does not say: RequestLimitExceeded")
        return state(volume_id)

    world.state = once  # type: ignore[assignment, method-assign]
    drained(world)
    assert not throttled
    assert world.did[-1] == REST


def test_what_is_drained_already_has_nothing_left_to_do(world: World) -> None:
    assert not planned(world).is_done(keep_system=True)
    world.nomad.change(FIRST, SchedulingEligibility="ineligible")
    for name in ("mysql-1", "web-1", "controller-1"):
        world.end(name)
    world.attached = []
    assert planned(world).is_done(keep_system=True)
    assert not planned(world).is_done(keep_system=False)


def test_system_jobs_stay_where_that_is_asked_for(world: World) -> None:
    moves(world)
    drained(world, keep_system=True)
    assert (world.status("node-1"), world.status("controller-1")) == ("running", "complete")


@pytest.mark.parametrize("broken", ["controller", "node plugin"])
def test_no_consumer_is_stopped_while_its_volume_could_not_be_unmounted_and_detached(world: World, broken: str) -> None:
    if broken == "controller":
        world.controllers_healthy = False
    else:
        world.nomad.change(FIRST, CSINodePlugins={"ebs": {"Healthy": False}})
    with pytest.raises(NotDrainedError, match="run the same command to resume") as late:
        drained(world, deadline_s=0.05)
    assert STOP not in world.did
    assert late.value.exit_status == 3


def test_a_consumer_whose_turn_comes_when_no_other_client_can_take_it_any_more_is_not_stopped(world: World) -> None:
    found = planned(world)
    ineligible(world)
    with pytest.raises(NotDrainedError, match="not stopped, since it would stay down: volume data needs a healthy"):
        Drain(world.nomad.api, world.ebs, found, Options(0.05), say=lambda _: None, poll_s=0.001).run()
    assert STOP not in world.did


def test_a_volume_that_stays_attached_is_named_at_the_deadline(world: World) -> None:
    world.after = [lambda: None, world.unmount]
    with pytest.raises(NotDrainedError, match="volume data is attached to i-1 as /dev/xvdaa"):
        drained(world, deadline_s=2)
    assert REST not in world.did


def test_a_second_call_goes_on_where_the_first_was_killed(world: World) -> None:
    world.nomad.change(FIRST, SchedulingEligibility="ineligible")
    world.end("mysql-1")
    assert [one.external_id for one in planned(world).left_attached] == [EXTERNAL]
    world.after = [lambda: None, world.unmount, world.start_elsewhere]
    drained(world)
    assert world.did == [REST]


def test_a_job_that_is_left_down_is_not_waited_for(world: World) -> None:
    ineligible(world)
    world.after = [lambda: None, world.unmount, world.detach]
    assert drained(world, leave_down=True).movers[0].runs_on == ""


def test_a_batch_job_ends_by_itself_unless_it_is_to_be_stopped(world: World) -> None:
    batch = job("mysql", "batch", volume=VOLUME)
    world.nomad.put("job/mysql", batch)
    world.nomad.change("allocation/mysql-1", Job=batch)
    with pytest.raises(NotDrainedError, match="--stop-batch"):
        drained(world, deadline_s=0.05)
    assert STOP not in world.did
    world.after = [lambda: None, world.unmount, world.detach]
    drained(world, stop_batch=True)
    assert STOP in world.did


def test_an_attachment_that_nothing_claims_is_ended_where_the_client_has_unmounted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "STRAY_AFTER_S", 0.0)
    events = [{"Message": "Unmount volume", "Details": {"volume_id": VOLUME, "success": "true"}}]
    world.nomad.change(FIRST, Events=events)
    world.after = [lambda: None, world.unmount]
    monkeypatch.setattr(world, "detach", lambda *_: setattr(world, "attached", []))
    world.nomad.change("job/mysql", Stop=True)
    drained(world)
    assert world.attached == []


@pytest.mark.parametrize("wanted", ["client-1", "aaaa0001", "i-1"])
def test_a_client_is_found_by_name_id_or_instance(world: World, wanted: str) -> None:
    assert node.find(world.nomad.api, wanted).name == "client-1"


@pytest.mark.parametrize("wanted", ["client-9", "aaaa", "i-9"])
def test_another_name_is_refused_with_those_that_there_are(world: World, wanted: str) -> None:
    with pytest.raises(OperateError, match="client-2"):
        node.find(world.nomad.api, wanted)


def test_of_two_clients_of_one_name_the_ready_one_counts(world: World) -> None:
    world.nomad.change(SECOND, Name="client-1", Status="down")
    assert node.find(world.nomad.api, "client-1").id == "aaaa0001"


def test_undo_makes_it_eligible_and_waits_for_its_plugins(world: World) -> None:
    ineligible(world)
    found = node.find(world.nomad.api, "client-2")
    undo(world.nomad.api, found, plugins_elsewhere(world.nomad.api, found), 1, lambda _: None)
    assert world.did == ["node/aaaa0002/drain", "node/aaaa0002/eligibility"]
    assert node.find(world.nomad.api, "client-2").eligible


@pytest.mark.parametrize(("given", "seconds"), [("90s", 90.0), ("10m", 600.0), ("1h", 3600.0)])
def test_deadlines_are_times(given: str, seconds: float) -> None:
    assert duration_s(given) == seconds


def test_a_dry_run_of_undo_changes_nothing(world: World) -> None:
    ineligible(world)
    command._undo(Frame("drain", yes=True, dry_run=True), world.nomad.api, node.find(world.nomad.api, "client-2"))
    assert world.did == []
