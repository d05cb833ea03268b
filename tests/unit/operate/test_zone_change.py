"""A volume's change of zone: what is next by what is found, what is refused, and what is asked of EC2 and Nomad."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.tags import AS_OF_TAG, GIVEN_UP_TAG, MOVE_TAG, RESTORED_TAG, STACK_TAG, listed
from nomad_stateful.nomad.clients import Client
from nomad_stateful.operate import frame
from nomad_stateful.operate.drill import source as drills
from nomad_stateful.operate.drill.model import Target
from nomad_stateful.operate.engine import EngineError, StackLockedError
from nomad_stateful.operate.exclusive import BusyError
from nomad_stateful.operate.ownership import WrongClusterError
from nomad_stateful.operate.zone_change import command, loss
from nomad_stateful.operate.zone_change.change import Wanted, ZoneChange
from nomad_stateful.operate.zone_change.consumers import Consumers
from nomad_stateful.operate.zone_change.copies import Copies
from nomad_stateful.operate.zone_change.situation import ZoneChangeError, phase, setting, stored
from nomad_stateful.waiting import RetryPolicy
from tests.fake_nomad import FakeNomad
from tests.unit.aws import (
    PLACE,
    account,
    answers,
    empty_first_pages,
    handlers,
    made_snapshot,
    made_volume,
    snapshots_of,
)

A, B = "us-west-2a", "us-west-2b"
OUTPUTS = {"mysql": {"namespace": "default", "volume": "mysql"}, "mysqlBackup": {"restoreJob": "mysql-restore"}}
JOB = {"TaskGroups": [{"Volumes": {"data": {"Type": "csi", "Source": "mysql"}}}], "Type": "service"}


class FakeEngine:
    """Settings and state; an update does what the program would."""

    def __init__(self, volume_id: str, **entry: Any) -> None:
        self.entry: dict[str, Any] = {"name": "mysql", "zone": A, **entry}
        self.guard: dict[str, Any] = {"volumeName": "mysql", "zone": A, "guardId": "g1", "moveTo": ""}
        self.volume_id = volume_id
        self.held = {"protect": True}
        """What the engine's state says of the EBS volume beside its outputs."""
        self.leaving = False
        self.cut_off_in_the_first_update = False
        self.done: list[str] = []
        self.other_changes = ""
        self.dies_after = ""
        self.meanwhile: dict[str, Callable[[], None]] = {}
        """What others do after a step."""
        self.locked = 0
        """How often the lock is somebody else's still."""
        self.makes: Callable[[], str] = lambda: volume_id

    def config(self) -> dict[str, Any]:
        return {"nomad-stateful:volumes": [{"name": "other", "zone": A}, self.entry]}

    def refuse_locked(self) -> None:
        if self.locked:
            self.locked -= 1
            raise StackLockedError("the stack is locked by ci@runner (pid 1)")

    def state(self) -> dict[str, Any]:
        return {"resources": self.resources()}

    def resources(self) -> list[dict[str, Any]]:
        arn = f"arn:aws:ec2:us-west-2:123456789012:volume/{self.volume_id}"
        registered = {"volumeId": "mysql", "externalId": self.volume_id, "namespace": "default", "pluginId": "ebs0"}
        volume = {"arn": arn, "tags": {"nomad-stateful-guard": "g1"}}
        found = [
            ("nomad-csi:index:VolumeGuard", self.guard),
            ("nomad-csi:index:VolumeProtection", {"volumeName": "mysql", "leaving": self.leaving}),
            ("nomad:index/csiVolumeRegistration:CsiVolumeRegistration", registered),
            ("nomad:index/job:Job", {"jobId": "mysql-server"}),
        ]
        rest = [{"type": token, "outputs": outputs} for token, outputs in found]
        return [*rest, {"type": "aws:ebs/volume:Volume", "outputs": volume, **self.held}]

    def pending(self) -> str:
        return self.other_changes

    def refuse_failing(self, values: dict[str, str]) -> None:
        self._step(f"previews {values['nomad-stateful:volumes[1].zone']}")

    def set(self, values: dict[str, str]) -> None:
        for path, value in values.items():
            self.entry[path.removeprefix("nomad-stateful:volumes[1].")] = value
        self._step(f"sets {' '.join(sorted(path.rpartition('.')[2] for path in values))}")

    def remove(self, path: str) -> None:
        del self.entry[path.rpartition(".")[2]]
        self._step(f"removes {path.rpartition('.')[2]}")

    def up(self, why: str, *, refresh: bool) -> None:
        self.refuse_locked()
        self.guard["moveTo"] = "" if self.entry["moveTo"] == self.entry["zone"] else self.entry["moveTo"]
        if self.guard["zone"] != self.entry["zone"]:
            self.guard |= {"zone": self.entry["zone"], "snapshotId": self.entry["snapshotId"]}
            assert self.leaving, "VolumeProtection refuses it"
            self.volume_id = self.makes()
        if self.cut_off_in_the_first_update:
            self.cut_off_in_the_first_update = False
            raise KeyboardInterrupt
        self.leaving = bool(self.guard["moveTo"])
        self.held = {"retainOnDelete": True} if self.leaving else {"protect": True}
        self._step(f"up{' --refresh' if refresh else ''}")

    def _step(self, what: str) -> None:
        self.done.append(what)
        self.meanwhile.pop(what, lambda: None)()
        if what.startswith(self.dies_after or "never"):
            self.dies_after = ""
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def ec2() -> Iterator[Any]:
    """One account for all tests, each of which has a volume of its own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("nomad_stateful.nomad.attaching.await_attachable", lambda *_: [])
        patched.setattr("nomad_stateful.operate.zone_change.change._LOCKED_POLL_S", 0.001)
        patched.setattr("nomad_stateful.operate.stack.tag", lambda: "shop/prod")
        patched.setattr("nomad_stateful.operate.stack.outputs", lambda: OUTPUTS)
        with account() as client:
            yield client


class World:
    """A stack whose volume is in zone A, with one job on it, and a client in each zone."""

    def __init__(self, ec2: Any, nomad: FakeNomad) -> None:
        self.ec2 = ec2
        self.old = made_volume(ec2)
        self.engine = FakeEngine(self.old)
        self.engine.makes = lambda: made_volume(ec2, zone=B)
        self.nomad = nomad
        nomad.put("job/mysql-server", JOB | {"Stop": False})
        nomad.put("job/mysql-server/allocations", self._allocations)
        nomad.put("volume/csi/mysql", lambda: {"ID": "mysql", "ExternalID": self.engine.volume_id})
        for zone in (A, B):
            attributes = {"platform.aws.placement.availability-zone": zone}
            plugins = {"CSINodePlugins": {"ebs0": {"Healthy": True}}}
            node = {"Name": zone, "Status": "ready", "SchedulingEligibility": "eligible", "Attributes": attributes}
            nomad.put(f"node/{zone}", node | plugins)

    def _allocations(self) -> list[dict[str, Any]]:
        zone = self.engine.entry["zone"]
        return [{"DesiredStatus": "run", "ClientStatus": "running", "NodeID": zone, "NodeName": "client"}]

    @property
    def stops(self) -> int:
        """How often the job was stopped."""
        assert set(self.nomad.writes) <= {"DELETE job/mysql-server"}
        return len(self.nomad.writes)

    def start(self) -> None:
        """As `pulumi up --refresh` does with a stopped job."""
        self.nomad.change("job/mysql-server", Stop=False)

    def change(self, **wanted: Any) -> ZoneChange:
        engine: Any = self.engine
        return ZoneChange(engine, self.nomad.client(RetryPolicy(1)), PLACE, Wanted("mysql", B, **wanted))

    def run(self, **wanted: Any) -> dict[str, Any]:
        change = self.change(**wanted)
        return change.run(change.plan())

    def killed(self, after: str, **wanted: Any) -> None:
        """Runs until it is killed after this step."""
        self.engine.dies_after = after
        with pytest.raises(KeyboardInterrupt):
            self.run(**wanted)

    def lose(self, minutes_ago: float = 5) -> str:
        """Zone A, with a snapshot from before; the snapshot."""
        lost_at = datetime.now(UTC) + timedelta(minutes=minutes_ago)
        self.nomad.change(f"node/{A}", Status="down", StatusUpdatedAt=lost_at.timestamp())
        return made_snapshot(self.ec2, self.old)


@pytest.fixture
def world(ec2: Any, nomad: FakeNomad) -> World:
    return World(ec2, nomad)


@pytest.fixture(params=[False, True], ids=["move", "failover"])
def lost(request: pytest.FixtureRequest, world: World) -> bool:
    """Whether zone A is lost, so that this is a failover."""
    if request.param:
        world.lose()
    return bool(request.param)


WAY = [
    "sets moveTo",
    "up",
    f"previews {B}",
    "sets snapshotId zone",
    "up",
    "removes snapshotId",
    "removes moveTo",
]


def test_a_move_is_two_updates_with_a_snapshot_of_the_stopped_volume_between_them(world: World) -> None:
    result = world.run()
    assert world.engine.done == WAY
    assert world.engine.entry == {"name": "mysql", "zone": B}
    assert (result["zone"], result["earlierVolumeId"], result["lostMinutes"]) == (B, world.old, 0)
    assert world.stops == 1
    assert snapshots_of(world.ec2, world.old) == [result["snapshotId"]], "the first one is dropped"


@pytest.mark.parametrize("dies_after", dict.fromkeys(WAY))
def test_a_move_that_was_killed_goes_on_where_it_was(world: World, dies_after: str) -> None:
    world.killed(dies_after)
    result = world.run()
    assert world.engine.entry == {"name": "mysql", "zone": B}
    assert result["earlierVolumeId"] == world.old
    assert world.stops == 1
    # Nobody knows what happened between the two runs: where the volume is not made yet, the snapshot is another.
    again = ["sets snapshotId"] if dies_after == WAY[3] else []
    assert [step for step in world.engine.done if step.startswith("sets")] == [WAY[0], WAY[3], *again]


@pytest.mark.parametrize("lost", [False, True])
def test_an_update_that_was_cut_off_after_the_guard_is_run_again_before_anything_is_stopped(
    world: World, lost: bool
) -> None:
    if lost:
        world.lose(minutes_ago=0)
    world.engine.cut_off_in_the_first_update = True
    with pytest.raises(KeyboardInterrupt):
        world.run(lost=lost)
    assert world.engine.guard["moveTo"] == B, "the guard alone was updated"
    result = world.run(lost=lost)
    assert result["zone"] == B
    assert [step for step in world.engine.done if step.startswith("up")] == ["up --refresh", "up --refresh"]


@pytest.mark.parametrize(
    ("held", "leaving", "may_leave"),
    [
        ({"retainOnDelete": True}, True, B),
        ({"retainOnDelete": True}, False, ""),
        ({"protect": True, "retainOnDelete": True}, True, ""),
        ({}, True, ""),
    ],
)
def test_a_volume_may_leave_once_the_engine_would_neither_refuse_nor_delete_it(
    held: dict[str, bool], leaving: bool, may_leave: str
) -> None:
    engine = FakeEngine("vol-1")
    engine.guard["moveTo"], engine.held, engine.leaving = B, held, leaving
    assert stored(engine.resources(), "mysql").move_to == may_leave


def test_a_step_that_changes_nothing_is_not_repeated_for_ever(world: World) -> None:
    world.engine.up = lambda why, *, refresh: None  # type: ignore[method-assign]
    with pytest.raises(ZoneChangeError, match=r"is where it was before the last step \(prepare\)"):
        world.run()


def test_what_was_started_again_after_the_last_snapshot_is_stopped_and_has_another_one(world: World) -> None:
    world.killed("sets snapshotId")
    earlier = world.engine.entry["snapshotId"]
    world.start()
    result = world.run()
    assert world.stops == 2
    assert result["snapshotId"] != earlier


def test_what_another_pulumi_started_while_its_lock_was_waited_for_is_stopped_again(ec2: Any, world: World) -> None:

    def other_pulumi() -> None:
        world.engine.locked = 3
        world.start()

    world.engine.meanwhile["sets snapshotId zone"] = other_pulumi
    result = world.run()
    assert world.stops == 2
    found = ec2.describe_snapshots(SnapshotIds=snapshots_of(ec2, world.old))["Snapshots"]
    taken = {one["SnapshotId"]: one["StartTime"] for one in found}
    assert result["snapshotId"] == max(taken, key=lambda one: (taken[one], one == result["snapshotId"]))
    assert world.engine.done.count("sets snapshotId") == 1


def test_what_began_to_use_the_volume_while_a_snapshot_was_copied_is_not_stopped(world: World) -> None:
    run = {**JOB, "Type": "batch", "ParentID": "mysql-server", "Stop": False, "Status": "running", "Dispatched": True}
    world.engine.meanwhile[f"previews {B}"] = lambda: world.nomad.put("job/mysql-server/dispatch-1", run)
    with pytest.raises(ZoneChangeError, match="job mysql-server/dispatch-1 uses volume mysql, and was dispatched"):
        world.run()
    assert world.stops == 0


@pytest.mark.parametrize(("during", "stops"), [("up", 0), ("sets snapshotId zone", 1)])
def test_a_zone_that_comes_back_during_a_failover_is_not_given_up(world: World, during: str, stops: int) -> None:
    world.lose(minutes_ago=0)

    def comes_back() -> None:
        world.nomad.change(f"node/{A}", Status="ready")
        world.start()

    world.engine.meanwhile[during] = comes_back
    with pytest.raises(ZoneChangeError, match=rf"the zone {A} is not lost: client {A} there is ready"):
        world.run(lost=True)
    assert (world.stops, world.engine.volume_id) == (stops, world.old)
    before = snapshots_of(world.ec2, world.old)
    assert world.run()["snapshotId"] not in before, "a move goes on, and loses nothing"


def test_nothing_is_stopped_while_another_pulumi_has_the_lock(world: World) -> None:
    world.engine.meanwhile[f"previews {B}"] = lambda: setattr(world.engine, "locked", 1)
    with pytest.raises(StackLockedError, match="ci@runner"):
        world.run()
    assert world.stops == 0


def test_what_changed_while_a_snapshot_was_copied_is_seen_before_anything_is_stopped(
    ec2: Any, world: World, lost: bool
) -> None:
    change = world.change(lost=lost)
    plan, look = change.plan(), change.look
    seen: list[int] = []

    def looks() -> Any:
        # As the second of two operators finds it: the first one's move has ended.
        if len(seen) == 3:
            world.engine.guard["zone"] = world.engine.entry["zone"] = B
        seen.append(1)
        return look()

    change.look = looks  # type: ignore[method-assign]
    with pytest.raises(ZoneChangeError, match=r"have changed meanwhile: somebody else .*\. Nothing is stopped"):
        change.run(plan)
    assert world.stops == 0
    assert GIVEN_UP_TAG not in str(ec2.describe_volumes(VolumeIds=[world.old]))


@pytest.mark.parametrize("dies_after", ["sets moveTo", "up", "sets snapshotId"])
def test_a_command_that_resumes_in_another_cluster_is_refused(world: World, lost: bool, dies_after: str) -> None:
    world.killed(dies_after, lost=lost)
    stops = world.stops
    world.nomad.put("volumes", [])
    with pytest.raises(WrongClusterError, match="has none of the stack's volumes"):
        world.run(lost=lost)
    assert world.stops == stops


def test_a_zone_where_ec2_makes_no_such_volume_is_found_out_before_anything_is_stopped(ec2: Any, world: World) -> None:
    before = len(ec2.describe_volumes()["Volumes"])
    refused = pytest.raises(ZoneChangeError, match=rf"no volume like mysql in {B} from snap-.*Nothing is stopped")
    with answers(ec2, "CreateVolume", "InsufficientVolumeCapacity"), refused:
        world.run()
    assert world.stops == 0
    assert world.run()["zone"] == B
    assert len(ec2.describe_volumes()["Volumes"]) == before + 1, "the trial's is deleted"


def test_the_trials_volume_is_deleted_though_ec2_does_not_find_it_by_its_tags_yet(ec2: Any, world: World) -> None:
    def unfound(params: Any, **_: Any) -> Any:
        return (SimpleNamespace(status_code=200), {"Volumes": []}) if "tag:Name" in params["body"].values() else None

    before = len(ec2.describe_volumes()["Volumes"])
    with handlers(ec2, {"before-call.ec2.DescribeVolumes": unfound}):
        assert world.run()["zone"] == B
    assert len(ec2.describe_volumes()["Volumes"]) == before + 1


def test_what_an_earlier_trial_left_is_deleted_though_ec2_lists_it_on_a_later_page(ec2: Any, world: World) -> None:
    left = made_volume(ec2, {"Name": "trial of mysql", STACK_TAG: "shop/prod"}, zone=B)
    with empty_first_pages(ec2):
        assert world.run()["zone"] == B
    assert left not in [one["VolumeId"] for one in ec2.describe_volumes()["Volumes"]]


@pytest.mark.parametrize(
    ("made_there", "said"),
    [
        (
            False,
            rf"set volumes.mysql.zone to {A}, remove volumes.mysql.moveTo and snapshotId, and run `pulumi up --ref",
        ),
        (True, rf"vol-\w+ in {B} is made already"),
    ],
)
def test_an_update_that_fails_with_everything_stopped_names_the_way_back(
    world: World, made_there: bool, said: str
) -> None:

    def fails() -> str:
        world.engine.guard["zone"] = B if made_there else A
        raise EngineError("`pulumi up` failed")

    world.engine.makes = fails
    with pytest.raises(ZoneChangeError, match=rf"`pulumi up` failed.*{said}"):
        world.run()


def test_no_way_back_into_a_lost_zone_is_named(world: World) -> None:
    world.lose()

    def fails() -> str:
        raise EngineError("`pulumi up` failed")

    world.engine.makes = fails
    with pytest.raises(EngineError, match=r"^`pulumi up` failed$"):
        world.run(lost=True)


@pytest.mark.parametrize("operation", ["CreateSnapshot", "DescribeVolumes", "DescribeSnapshots"])
def test_one_throttled_answer_does_not_end_a_move_with_everything_stopped(
    ec2: Any, world: World, operation: str
) -> None:
    throttled: list[str] = []

    def throttle(model: Any, **_: Any) -> None:
        if model.name == operation and world.stops and not throttled and world.engine.entry["zone"] == A:
            throttled.append(model.name)
            raise ClientError({"Error": {"Code": "RequestLimitExceeded"}}, model.name)

    ec2.meta.events.register("before-call.ec2", throttle)
    try:
        assert world.run()["zone"] == B
    finally:
        ec2.meta.events.unregister("before-call.ec2", throttle)
    assert throttled == [operation]


def test_runs_of_the_stacks_jobs_that_have_ended_do_not_keep_a_volume(world: World) -> None:
    run = {**JOB, "Type": "batch", "ParentID": "mysql-server", "Stop": False, "Status": "dead"}
    world.nomad.put("job/mysql-server/periodic-1", run)
    world.nomad.put("job/report", {**JOB, "Type": "batch", "Stop": False, "Status": "dead"})
    world.nomad.put("job/mysql-server/periodic-2", run | {"Status": "running"})
    assert world.change().plan().jobs == ("mysql-server", "mysql-server/periodic-2")
    world.nomad.change("job/mysql-server/periodic-2", Dispatched=True)
    with pytest.raises(ZoneChangeError, match="job mysql-server/periodic-2 uses volume mysql, and was dispatched"):
        world.change().plan()


RESTORE = {"ParentID": "mysql-restore", "Type": "batch", "Dispatched": True, "Status": "pending", "TaskGroups": []}


def test_a_restore_into_the_server_of_the_volume_has_to_end_first(world: World, lost: bool) -> None:
    """It has another volume itself, on which it may wait."""
    world.nomad.put("job/mysql-restore/dispatch-1", RESTORE)
    if lost:
        assert world.change(lost=True).plan().phase == "begin"
        return
    with pytest.raises(ZoneChangeError, match="mysql-restore/dispatch-1 is pending: it drops the tables"):
        world.change().plan()
    world.nomad.put("job/mysql-restore/dispatch-1", RESTORE | {"Status": "dead"})
    world.engine.meanwhile[f"previews {B}"] = lambda: world.nomad.put("job/mysql-restore/dispatch-2", RESTORE)
    with pytest.raises(ZoneChangeError, match="mysql-restore/dispatch-2 is pending"):
        world.run()
    assert world.stops == 0


def test_beside_another_command_nothing_is_begun(world: World, lost: bool, monkeypatch: pytest.MonkeyPatch) -> None:

    def busy(_nomad: Any, what: str) -> None:
        raise BusyError(f"{what} beside another")

    monkeypatch.setattr(frame, "connect", lambda **_: SimpleNamespace(close=lambda: None, clock=lambda: None))
    monkeypatch.setattr("nomad_stateful.operate.stack.aws_place", AwsPlace)
    monkeypatch.setattr(command, "Engine", lambda _: None)
    monkeypatch.setattr(command, "ZoneChange", lambda *_: world.change(lost=lost))
    monkeypatch.setattr(frame, "exclusive", busy)
    with pytest.raises(BusyError, match=f"^{'failover' if lost else 'move'} mysql beside another"):
        command.change(
            frame.Frame("failover" if lost else "move", yes=True, checks=command.CHECKS), Wanted("mysql", B, lost=lost)
        )
    assert world.engine.done == []


def test_a_repeated_command_after_the_end_changes_nothing(world: World) -> None:
    first = world.run()
    world.engine.done.clear()
    again = world.run()
    assert world.engine.done == []
    assert again["volumeId"] == first["volumeId"]


def test_a_repeated_command_succeeds_where_what_its_result_names_was_deleted(
    ec2: Any, world: World, lost: bool
) -> None:
    first = world.run(lost=lost)
    ec2.delete_snapshot(SnapshotId=first["snapshotId"])
    ec2.delete_volume(VolumeId=first["earlierVolumeId"])
    again = world.run(lost=lost)
    assert (again["volumeId"], again["earlierVolumeId"]) == (first["volumeId"], "")


def test_a_resumed_command_does_not_call_a_deleted_snapshot_kept(ec2: Any, world: World, lost: bool) -> None:
    world.killed("removes snapshotId", lost=lost)
    ec2.delete_snapshot(SnapshotId=world.engine.guard["snapshotId"])
    change = world.change(lost=lost)
    plan = change.plan()
    assert "is kept" not in "\n".join(command.ending(change.run(plan), plan))


def test_other_changes_of_the_stack_are_not_made_along_with_a_move(world: World) -> None:
    change = world.change()
    plan = change.plan()
    world.engine.other_changes = "~ nomad:index:Job mysql-job"
    with pytest.raises(ZoneChangeError, match="other pending changes"):
        world.run()
    with pytest.raises(ZoneChangeError, match="other pending changes"):
        change.run(plan)  # they came before the answer
    assert world.engine.entry == {"name": "mysql", "zone": A}


def test_a_job_of_somebody_else_on_the_volume_is_not_stopped(world: World) -> None:
    world.nomad.put("job/mysql-server", None)
    world.nomad.put("job/report", JOB | {"Stop": False})
    with pytest.raises(ZoneChangeError, match="job report uses volume mysql and is not this stack's"):
        world.change().plan()


def test_a_zone_where_nothing_can_use_the_volume_is_refused(world: World) -> None:
    world.nomad.change(f"node/{B}", Status="down")
    with pytest.raises(ZoneChangeError, match=rf"--zone {B}: nothing there can use the volume.*{B} is down"):
        world.change().plan()


def test_a_client_that_is_collected_meanwhile_does_not_end_a_change(world: World, lost: bool) -> None:
    world.nomad.put("nodes", [{"ID": one} for one in ("node-of-yesterday", A, B)])
    assert world.run(lost=lost)["zone"] == B


def test_a_failover_says_what_is_lost_gives_the_volume_up_and_goes_on_from_the_newest_snapshot(
    ec2: Any, world: World
) -> None:
    snapshot = world.lose()
    change = world.change(lost=True)
    plan = change.plan()
    assert plan.loss
    assert plan.loss.minutes == pytest.approx(5, abs=0.2)
    said = "\n".join(command.lines(plan, change.wanted))
    assert f"LOST: what was written after snapshot {snapshot} was begun" in said
    assert "the last 5.0 minutes until Nomad lost us-west-2a" in said
    assert re.search(r"was begun, at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", said)
    result = change.run(plan)
    assert result["snapshotId"] == snapshot
    assert result["lostMinutes"] == pytest.approx(5, abs=0.2)
    tags = ec2.describe_volumes(VolumeIds=[world.old])["Volumes"][0]["Tags"]
    assert GIVEN_UP_TAG in {tag["Key"] for tag in tags}
    assert snapshots_of(world.ec2, world.old) == [snapshot], "no snapshot of a lost zone is waited for"


def test_a_snapshot_of_a_point_in_time_loses_what_came_after_that(ec2: Any, world: World) -> None:
    world.lose(minutes_ago=0)
    moment = datetime.now(UTC) - timedelta(minutes=2)
    tags = {AS_OF_TAG: moment.isoformat(), RESTORED_TAG: world.old}
    restored = made_snapshot(ec2, made_volume(ec2, zone=B), tags)
    change = world.change(lost=True, snapshot_id=restored)
    plan = change.plan()
    assert plan.loss
    assert plan.loss.minutes == pytest.approx(2, abs=0.2)
    assert change.run(plan)["earlierVolumeId"] == world.old
    assert plan.loss.taken == f"{moment:%Y-%m-%d %H:%M:%S UTC}"


@pytest.mark.parametrize("dies_after", ["sets moveTo", "up", "sets snapshotId", "removes snapshotId", "removes moveTo"])
def test_a_failover_that_was_killed_goes_on_from_the_same_snapshot(world: World, dies_after: str) -> None:
    snapshot = world.lose(minutes_ago=0)
    world.killed(dies_after, lost=True)
    result = world.run(lost=True)
    assert (result["snapshotId"], result["zone"]) == (snapshot, B)


def test_a_failover_of_a_begun_move_keeps_the_first_snapshot_that_it_went_on_from(world: World) -> None:
    """It is the only one: the zone was lost before the last one."""
    world.killed(f"previews {B}")
    first = snapshots_of(world.ec2, world.old)
    world.nomad.change(f"node/{A}", Status="down")
    result = world.run(lost=True)
    assert snapshots_of(world.ec2, world.old) == first == [result["snapshotId"]]
    assert world.run(lost=True)["snapshotId"] == result["snapshotId"]


def test_a_failover_that_resumes_goes_on_from_the_snapshot_that_is_named_now(world: World) -> None:
    world.lose(minutes_ago=0)
    world.killed("sets snapshotId", lost=True)
    another = made_snapshot(world.ec2, world.old)
    assert world.run(lost=True, snapshot_id=another)["snapshotId"] == another


def test_a_failover_shows_other_changes_and_makes_them_along(world: World) -> None:
    world.lose()
    world.engine.other_changes = "~ nomad:index:Job mysql-job"
    change = world.change(lost=True)
    said = "\n".join(command.lines(change.plan(), change.wanted))
    assert "The update also applies these pending changes:\n~ nomad:index:Job mysql-job" in said


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize(("there", "said"), [(None, "not registered"), ({"ExternalID": "vol-other"}, "vol-other")])
def test_another_cluster_is_refused(world: World, there: dict[str, str], said: str, lost: bool) -> None:
    world.nomad.put("volumes", [{"ID": "mysql", "ExternalID": world.old}])
    world.nomad.put("volume/csi/mysql", there)
    with pytest.raises(ZoneChangeError, match=rf"and {said} in namespace default .* Check NOMAD_ADDR"):
        world.change(lost=lost).plan()


def test_a_zone_that_has_a_ready_client_is_not_lost(world: World) -> None:
    with pytest.raises(ZoneChangeError, match=rf"the zone {A} is not lost: client {A} there is ready. `nomad-stateful"):
        world.change(lost=True).plan()


def test_without_a_snapshot_nothing_is_restored_in_another_zone(world: World) -> None:
    world.nomad.change(f"node/{A}", Status="down")
    with pytest.raises(ZoneChangeError, match=r"has no complete snapshot, .* Restore a dump"):
        world.change(lost=True).plan()


def test_more_loss_than_is_accepted_is_refused(world: World) -> None:
    world.lose()
    with pytest.raises(ZoneChangeError, match=r"--max-loss is 2: snapshot snap-\S+ was taken 5.0 minutes before"):
        world.change(lost=True, max_loss_min=2).plan()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"provision": "plugin"}, "volumes.mysql.provision is plugin: only EBS volumes that Pulumi makes"),
        ({"count": 3}, "volumes.mysql.count is 3: a set of volumes is spread over zones"),
        ({"name": "data"}, "the settings have no single volume mysql: they have data"),
    ],
)
def test_what_cannot_be_moved_is_refused(entry: dict[str, Any], said: str) -> None:
    with pytest.raises(ZoneChangeError, match=said):
        setting({"nomad-stateful:volumes": [{"name": "mysql", "zone": A, **entry}]}, "mysql")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"moveTo": "us-west-2c"}, "volumes.mysql.moveTo is us-west-2c: its move there was begun"),
        (
            {"zone": B},
            f"volumes.mysql.zone is {B}, and the stack has the volume in {A}, which it may not leave: the setting",
        ),
        ({"zone": B, "moveTo": B}, "which it may not leave: "),
    ],
)
def test_another_way_that_was_begun_is_not_mixed_with_this_one(entry: dict[str, Any], said: str) -> None:
    engine = FakeEngine("vol-1", **entry)
    with pytest.raises(ZoneChangeError, match=said):
        phase(setting(engine.config(), "mysql"), stored(engine.resources(), "mysql"), B)


def test_a_snapshot_of_an_earlier_run_is_not_taken_for_the_last_one(ec2: Any) -> None:
    volume_id = made_volume(ec2)
    copies = Copies(PLACE, volume_id, "mysql")
    first = copies.take(B, 5)
    assert copies.take(B, 5) != first
    [tags] = [one["Tags"] for one in ec2.describe_snapshots(SnapshotIds=[first])["Snapshots"]]
    assert {"Key": MOVE_TAG, "Value": B} in tags


def test_a_move_that_was_given_up_leaves_no_snapshot_that_a_later_one_goes_on_from(world: World) -> None:
    world.nomad.change(
        "job/mysql-server", TaskGroups=[]
    )  # nothing of Nomad's says whether something wrote to the volume in between
    world.killed("sets snapshotId")
    earlier = world.engine.entry.pop("snapshotId")
    world.engine.entry |= {"zone": A}
    assert world.run()["snapshotId"] != earlier


def newest(copies: Copies) -> str:
    found = copies.newest()
    assert found is not None
    return found.id


def test_only_a_snapshot_that_the_guard_accepts_may_be_chosen(ec2: Any) -> None:
    volume_id, other = made_volume(ec2), made_volume(ec2)
    before = made_snapshot(ec2, other, {"Name": "mysql"})
    with pytest.raises(ZoneChangeError, match=rf"--snapshot {before} is of {other}, and volume mysql is {volume_id}:"):
        Copies(PLACE, volume_id, "mysql").chosen(before)
    moved = Copies(PLACE, volume_id, "mysql", before)
    assert moved.chosen(before).id == before
    assert newest(moved) == before, "all there is until a schedule fires"
    own = moved.take(B, 5)
    assert newest(moved) == own


def test_only_a_complete_snapshot_of_the_volume_may_be_chosen(ec2: Any) -> None:
    volume_id, other = made_volume(ec2), made_volume(ec2)
    copies = Copies(PLACE, volume_id, "mysql")
    mine, others = copies.take("b 1", 5), made_snapshot(ec2, other)
    assert copies.chosen(mine).id == mine
    with pytest.raises(ZoneChangeError, match=rf"--snapshot {others} is of {other}, and volume mysql is {volume_id}"):
        copies.chosen(others)
    ec2.create_tags(Resources=[others], Tags=listed({RESTORED_TAG: volume_id}))
    assert copies.chosen(others).id == others


@pytest.mark.parametrize("own", [False, True])
def test_a_drill_restores_what_a_failover_would_go_on_from(ec2: Any, own: bool) -> None:
    volume_id, before = made_volume(ec2), made_volume(ec2)
    origin = made_snapshot(ec2, before)
    # Of an earlier EBS volume of that name: not what the volume has.
    made_snapshot(ec2, made_volume(ec2), {"Name": "mysql", STACK_TAG: "shop/prod"})
    if own:
        made_snapshot(ec2, volume_id)
    target = Target("mysql", volume_id, "shop/prod/mysql", "drill", "drill", A, "aws-ebs0", "zone", made_from=origin)
    restored = drills.newest(PLACE, target)
    assert restored is not None
    assert restored.id == newest(Copies(PLACE, volume_id, "mysql", origin))
    assert (restored.id == origin) != own


def test_a_job_on_two_volumes_cannot_follow_one_of_them(nomad: FakeNomad) -> None:
    groups = [{"Volumes": {"a": {"Type": "csi", "Source": "mysql"}, "b": {"Type": "csi", "Source": "logs"}}}]
    nomad.put("job/mysql-server", {"Stop": False, "TaskGroups": groups})
    required = [{"Segments": {"topology.ebs.csi.aws.com/zone": A}}]
    nomad.put("volume/csi/logs", {"RequestedTopologies": {"Required": required}})
    using = Consumers(nomad.api, "default", "mysql")
    assert using.other_volumes(B) == ["logs"]
    assert using.other_volumes(A) == []


def test_a_zone_is_lost_when_the_last_of_its_clients_went() -> None:
    there = [Client(name, name, "down", zone=A, status_since=since) for name, since in (("c1", 100), ("c2", 160))]
    assert loss.lost_at(there, A) == datetime.fromtimestamp(160, UTC)
