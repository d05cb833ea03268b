"""`nomad-stateful failover`: when a lost client's job may start elsewhere, and which instances are stopped for it."""

from __future__ import annotations

from typing import Any

import pytest

from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.nomad.fingerprint import INSTANCE_ATTRIBUTE
from nomad_stateful.recovery.failover import delayed_jobs, judge
from nomad_stateful.recovery.watcher import Watcher
from tests.fake_nomad import FakeNomad
from tests.unit.aws import PLACE, asked, have_instance, have_volume

VOLUME, INSTANCE, OTHER, SPACE = "vol-0123456789abcdef0", "i-0a", "i-0b", "data"


def node(name: str, status: str, instance_id: str) -> dict[str, Any]:
    return {"ID": f"node-{name}", "Name": name, "Status": status, "Attributes": {INSTANCE_ATTRIBUTE: instance_id}}


@pytest.fixture
def ec2(ec2: Any) -> Any:
    """An instance for each client, and the volume on that of client-1, where it may be mounted."""
    for instance_id in (INSTANCE, OTHER, "i-0c"):
        have_instance(ec2, instance_id)
    have_volume(ec2, VOLUME, INSTANCE, "busy")
    return ec2


@pytest.fixture
def nomad(nomad: FakeNomad, ec2: Any) -> FakeNomad:
    """A cluster whose MySQL was lost with client-1, and waits."""
    have(nomad, node("1", "down", INSTANCE), node("2", "ready", OTHER), node("3", "ready", "i-0c"))
    groups = [{"Volumes": {"data": {"Type": "csi", "Source": "data"}}}]
    nomad.put("job/mysql", {"Namespace": SPACE, "TaskGroups": groups})
    nomad.put("volume/csi/data", {"Namespace": SPACE, "ExternalID": VOLUME})
    lose(nomad, "a", "1", "eval-1")
    return nomad


def have(nomad: FakeNomad, *nodes: dict[str, Any]) -> None:
    for one in nodes:
        nomad.put(f"node/{one['ID']}", one)


def lose(nomad: FakeNomad, allocation_id: str, client: str, evaluation_id: str) -> None:
    """An allocation is lost with its client, and an evaluation is to place another one later."""
    job = {"JobID": "mysql", "Namespace": SPACE}
    lost = {"NodeID": f"node-{client}", "FollowupEvalID": evaluation_id, "ClientStatus": "lost"}
    nomad.put(f"allocation/{allocation_id}", job | lost)
    nomad.put(f"evaluation/{evaluation_id}", job | {"TriggeredBy": "alloc-failure", "Status": "pending"})


def evaluated(nomad: FakeNomad) -> int:
    """How often Nomad was told to evaluate the job; it is told nothing else."""
    assert set(nomad.writes) <= {"PUT job/mysql/evaluate"}
    return len(nomad.writes)


def watcher(nomad: FakeNomad, *, fence: bool = False, volume: str = "data") -> Watcher:
    return Watcher(nomad.api, EbsVolumes(PLACE), fence, frozenset({(SPACE, volume)}))


def verdict(nomad: FakeNomad) -> str:
    (job,) = delayed_jobs(nomad.api, SPACE)
    return judge(job, EbsVolumes(PLACE)).verdict


@pytest.mark.parametrize(
    ("state", "is_held", "expected"),
    [
        ("terminated", True, "start"),
        ("stopped", True, "start"),
        ("stopping", True, "wait"),
        ("shutting-down", True, "wait"),
        ("not-found", True, "wait"),
        ("running", True, "fence"),
        ("running", False, "start"),
    ],
)
def test_it_starts_elsewhere_only_where_the_lost_instance_cannot_write(
    nomad: FakeNomad, ec2: Any, state: str, is_held: bool, expected: str
) -> None:
    if not is_held:
        ec2.detach_volume(VolumeId=VOLUME, InstanceId=INSTANCE)
    have_instance(ec2, INSTANCE, state)
    assert verdict(nomad) == expected


def test_a_volume_that_many_may_mount_counts_as_held_while_the_instance_runs(nomad: FakeNomad, ec2: Any) -> None:
    nomad.change("volume/csi/data", ExternalID="fs-1")
    assert verdict(nomad) == "wait"
    have_instance(ec2, INSTANCE, "stopped")
    assert verdict(nomad) == "start"


def test_without_the_instance_of_the_lost_client_it_waits(nomad: FakeNomad) -> None:
    nomad.put("node/node-1", None)
    assert verdict(nomad) == "wait"


def test_a_client_that_is_back_is_not_fenced(nomad: FakeNomad) -> None:
    nomad.change("node/node-1", Status="ready")
    assert verdict(nomad) == "wait"


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("allocation/a", {"ClientStatus": "failed"}),
        ("allocation/a", {"FollowupEvalID": "another"}),
        ("evaluation/eval-1", {"TriggeredBy": "queued-allocs"}),
        ("evaluation/eval-1", {"Status": "complete"}),
    ],
)
def test_a_job_that_waits_for_something_else_is_left_alone(nomad: FakeNomad, path: str, change: dict[str, str]) -> None:
    nomad.change(path, **change)
    assert not list(delayed_jobs(nomad.api, SPACE))


def test_nomad_is_asked_to_evaluate_the_job_once(nomad: FakeNomad, ec2: Any) -> None:
    have_instance(ec2, INSTANCE, "terminated")
    watching = watcher(nomad)
    watching.look()
    watching.look()
    assert evaluated(nomad) == 1


@pytest.mark.parametrize("evaluation_id", ["eval-1", "eval-2"])
def test_a_job_that_lost_two_clients_waits_for_both_since_an_evaluation_places_both(
    nomad: FakeNomad, ec2: Any, evaluation_id: str
) -> None:
    have(nomad, node("2", "down", OTHER), node("4", "ready", "i-0d"))
    lose(nomad, "b", "2", evaluation_id)
    # The first is terminated; the second is cut off, and writes.
    ec2.detach_volume(VolumeId=VOLUME, InstanceId=INSTANCE)
    have_volume(ec2, VOLUME, OTHER, "busy")
    have_instance(ec2, INSTANCE, "terminated")
    stops = asked(ec2, "StopInstances")
    watching = watcher(nomad, fence=True)
    watching.look()
    assert not evaluated(nomad)
    assert stops == [{"InstanceIds": [OTHER]}]
    have_instance(ec2, OTHER, "stopped")
    watching.look()
    watching.look()
    assert evaluated(nomad) == 1


def test_a_client_that_is_lost_after_the_first_was_replaced_is_judged_by_itself(nomad: FakeNomad, ec2: Any) -> None:
    have(nomad, node("1", "ready", INSTANCE), node("2", "down", OTHER))
    have_instance(ec2, INSTANCE, "terminated")
    watching = watcher(nomad)
    watching.look()
    assert evaluated(nomad) == 1
    # Its instance runs again, with the volume that its second allocation uses.
    nomad.change("allocation/a", NextAllocation="c")
    lose(nomad, "b", "2", "eval-2")
    have_instance(ec2, INSTANCE)
    have_instance(ec2, OTHER, "terminated")
    watching = watcher(nomad)
    watching.look()
    assert evaluated(nomad) == 2


def test_jobs_without_a_volume_of_the_stack_are_left_alone(nomad: FakeNomad, ec2: Any) -> None:
    have_instance(ec2, INSTANCE, "terminated")
    watcher(nomad, volume="another").look()
    assert not evaluated(nomad)


@pytest.mark.parametrize(("fence", "stopped"), [(False, []), (True, [{"InstanceIds": [INSTANCE]}])])
def test_an_instance_that_may_write_is_only_stopped_where_that_is_asked_for(
    nomad: FakeNomad, ec2: Any, fence: bool, stopped: list[Any]
) -> None:
    stops = asked(ec2, "StopInstances")
    watching = watcher(nomad, fence=fence)
    watching.look()
    have_instance(ec2, INSTANCE, "running")  # as EC2 may show it for a while
    watching.look()
    assert stops == stopped
    assert not evaluated(nomad)


def test_a_fenced_job_starts_elsewhere_once_its_instance_is_stopped(nomad: FakeNomad, ec2: Any) -> None:
    watching = watcher(nomad, fence=True)
    for state in ("running", "stopping", "stopped"):
        have_instance(ec2, INSTANCE, state)
        assert not evaluated(nomad)
        watching.look()
    assert evaluated(nomad) == 1


def test_nothing_is_fenced_while_the_servers_may_be_what_is_cut_off(
    nomad: FakeNomad, ec2: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    nomad.change("node/node-2", Status="down")
    stops = asked(ec2, "StopInstances")
    watcher(nomad, fence=True).look()
    assert stops == []
    assert "2 clients are down and 1 ready, so the servers may be what is cut off" in capsys.readouterr().out


@pytest.mark.parametrize(("other", "stopped"), [("running", []), ("terminated", [{"InstanceIds": [INSTANCE]}])])
def test_with_half_of_the_clients_away_nothing_is_fenced_unless_an_instance_is_gone(
    nomad: FakeNomad, ec2: Any, other: str, stopped: list[Any]
) -> None:
    have(nomad, node("2", "down", OTHER), node("4", "ready", "i-0d"))
    have_instance(ec2, OTHER, other)
    stops = asked(ec2, "StopInstances")
    watcher(nomad, fence=True).look()
    assert stops == stopped


def test_an_error_is_told_once_and_does_not_end_the_watch(
    nomad: FakeNomad, ec2: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    nomad.refuse("evaluations", 500, "No cluster leader", times=2)
    have_instance(ec2, INSTANCE, "terminated")
    watching = watcher(nomad)
    watching.look()
    watching.look()
    assert capsys.readouterr().out.count("No cluster leader") == 1
    watching.look()
    assert evaluated(nomad) == 1
