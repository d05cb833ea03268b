"""`nomad-stateful failover`: when a lost client's job may start elsewhere, and which instances are stopped for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from nomad_stateful.ebs.volumes import Attachment, EbsVolumes, Volume
from nomad_stateful.nomad.fingerprint import INSTANCE_ATTRIBUTE
from nomad_stateful.recovery.failover import delayed_jobs, judge
from nomad_stateful.recovery.watcher import Watcher
from tests.fake_nomad import FakeNomad

VOLUME, INSTANCE, OTHER = "vol-0123456789abcdef0", "i-0a", "i-0b"
HELD = {VOLUME: Volume(VOLUME, "in-use", [Attachment(INSTANCE, "/dev/xvdaa", "busy")])}
FREE = {VOLUME: Volume(VOLUME, "available")}


def node(name: str, status: str, instance_id: str) -> dict[str, Any]:
    return {"ID": f"node-{name}", "Name": name, "Status": status, "Attributes": {INSTANCE_ATTRIBUTE: instance_id}}


@pytest.fixture
def nomad(nomad: FakeNomad) -> FakeNomad:
    """A cluster whose MySQL was lost with client-1, and waits."""
    have(nomad, node("1", "down", INSTANCE), node("2", "ready", OTHER), node("3", "ready", "i-0c"))
    nomad.put("job/mysql", {"TaskGroups": [{"Volumes": {"data": {"Type": "csi", "Source": "data"}}}]})
    nomad.put("volume/csi/data", {"ExternalID": VOLUME})
    lose(nomad, "a", "1", "eval-1")
    return nomad


def have(nomad: FakeNomad, *nodes: dict[str, Any]) -> None:
    for one in nodes:
        nomad.put(f"node/{one['ID']}", one)


def lose(nomad: FakeNomad, allocation_id: str, client: str, evaluation_id: str) -> None:
    """An allocation is lost with its client, and an evaluation is to place another one later."""
    lost = {"JobID": "mysql", "NodeID": f"node-{client}", "FollowupEvalID": evaluation_id, "ClientStatus": "lost"}
    nomad.put(f"allocation/{allocation_id}", lost)
    nomad.put(f"evaluation/{evaluation_id}", {"JobID": "mysql", "TriggeredBy": "alloc-failure", "Status": "pending"})


def evaluated(nomad: FakeNomad) -> int:
    """How often Nomad was told to evaluate the job; it is told nothing else."""
    assert set(nomad.writes) <= {"PUT job/mysql/evaluate"}
    return len(nomad.writes)


class Ebs:
    """What EC2 says."""

    def __init__(self, volumes: Mapping[str, Volume], **states: str) -> None:
        self.volumes = volumes
        self.stopped: list[str] = []
        self.states = {INSTANCE: "running", OTHER: "running", "i-0c": "running", **states}

    def state(self, volume_id: str) -> Volume:
        return self.volumes[volume_id]

    def instance_states(self, instance_ids: list[str]) -> dict[str, str]:
        return {one: self.states[one] for one in instance_ids}

    def stop_instances(self, instance_ids: list[str]) -> None:
        self.stopped += instance_ids


def watcher(nomad: FakeNomad, ebs: Ebs, *, fence: bool = False, volume: str = "data") -> Watcher:
    return Watcher(nomad.api, cast("EbsVolumes", ebs), fence, frozenset({("default", volume)}))


def verdict(nomad: FakeNomad, ebs: Ebs) -> str:
    (job,) = delayed_jobs(nomad.api, "default")
    return judge(job, cast("EbsVolumes", ebs)).verdict


@pytest.mark.parametrize(
    ("state", "volumes", "expected"),
    [
        ("terminated", HELD, "start"),
        ("stopped", HELD, "start"),
        ("stopping", HELD, "wait"),
        ("shutting-down", HELD, "wait"),
        ("not-found", HELD, "wait"),
        ("running", HELD, "fence"),
        ("running", FREE, "start"),
    ],
)
def test_it_starts_elsewhere_only_where_the_lost_instance_cannot_write(
    nomad: FakeNomad, state: str, volumes: Mapping[str, Volume], expected: str
) -> None:
    assert verdict(nomad, Ebs(volumes, **{INSTANCE: state})) == expected


def test_a_volume_that_many_may_mount_counts_as_held_while_the_instance_runs(nomad: FakeNomad) -> None:
    nomad.change("volume/csi/data", ExternalID="fs-1")
    assert verdict(nomad, Ebs(FREE)) == "wait"
    assert verdict(nomad, Ebs(FREE, **{INSTANCE: "stopped"})) == "start"


def test_without_the_instance_of_the_lost_client_it_waits(nomad: FakeNomad) -> None:
    nomad.put("node/node-1", None)
    assert verdict(nomad, Ebs(FREE)) == "wait"


def test_a_client_that_is_back_is_not_fenced(nomad: FakeNomad) -> None:
    nomad.change("node/node-1", Status="ready")
    assert verdict(nomad, Ebs(HELD)) == "wait"


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
    assert not list(delayed_jobs(nomad.api, "default"))


def test_nomad_is_asked_to_evaluate_the_job_once(nomad: FakeNomad) -> None:
    watching = watcher(nomad, Ebs(HELD, **{INSTANCE: "terminated"}))
    watching.look()
    watching.look()
    assert evaluated(nomad) == 1


@pytest.mark.parametrize("evaluation_id", ["eval-1", "eval-2"])
def test_a_job_that_lost_two_clients_waits_for_both_since_an_evaluation_places_both(
    nomad: FakeNomad, evaluation_id: str
) -> None:
    have(nomad, node("2", "down", OTHER), node("4", "ready", "i-0d"))
    lose(nomad, "b", "2", evaluation_id)
    # The first is terminated; the second is cut off, and writes.
    held = {VOLUME: Volume(VOLUME, "in-use", [Attachment(OTHER, "/dev/xvdaa", "busy")])}
    ebs = Ebs(held, **{INSTANCE: "terminated"})
    watching = watcher(nomad, ebs, fence=True)
    watching.look()
    assert not evaluated(nomad)
    assert ebs.stopped == [OTHER]
    ebs.states[OTHER] = "stopped"
    watching.look()
    watching.look()
    assert evaluated(nomad) == 1


def test_a_client_that_is_lost_after_the_first_was_replaced_is_judged_by_itself(nomad: FakeNomad) -> None:
    have(nomad, node("1", "ready", INSTANCE), node("2", "down", OTHER))
    watching = watcher(nomad, Ebs(HELD, **{INSTANCE: "terminated"}))
    watching.look()
    assert evaluated(nomad) == 1
    # Its instance runs again, with the volume that its second allocation uses.
    nomad.change("allocation/a", NextAllocation="c")
    lose(nomad, "b", "2", "eval-2")
    watching = watcher(nomad, Ebs(HELD, **{OTHER: "terminated"}))
    watching.look()
    assert evaluated(nomad) == 2


def test_jobs_without_a_volume_of_the_stack_are_left_alone(nomad: FakeNomad) -> None:
    watcher(nomad, Ebs(HELD, **{INSTANCE: "terminated"}), volume="another").look()
    assert not evaluated(nomad)


@pytest.mark.parametrize(("fence", "stopped"), [(False, []), (True, [INSTANCE])])
def test_an_instance_that_may_write_is_only_stopped_where_that_is_asked_for(
    nomad: FakeNomad, fence: bool, stopped: list[str]
) -> None:
    ebs = Ebs(HELD)
    watching = watcher(nomad, ebs, fence=fence)
    watching.look()
    watching.look()
    assert ebs.stopped == stopped
    assert not evaluated(nomad)


def test_a_fenced_job_starts_elsewhere_once_its_instance_is_stopped(nomad: FakeNomad) -> None:
    ebs = Ebs(HELD)
    watching = watcher(nomad, ebs, fence=True)
    for state in ("running", "stopping", "stopped"):
        ebs.states[INSTANCE] = state
        assert not evaluated(nomad)
        watching.look()
    assert evaluated(nomad) == 1


def test_nothing_is_fenced_while_the_servers_may_be_what_is_cut_off(
    nomad: FakeNomad, capsys: pytest.CaptureFixture[str]
) -> None:
    nomad.change("node/node-2", Status="down")
    ebs = Ebs(HELD)
    watcher(nomad, ebs, fence=True).look()
    assert ebs.stopped == []
    assert "2 clients are down and 1 ready, so the servers may be what is cut off" in capsys.readouterr().out


def test_clients_whose_instances_are_gone_do_not_count_against_a_fence(nomad: FakeNomad) -> None:
    have(nomad, node("2", "down", OTHER), node("4", "ready", "i-0d"))
    ebs = Ebs(HELD, **{OTHER: "terminated"})
    watcher(nomad, ebs, fence=True).look()
    assert ebs.stopped == [INSTANCE]


def test_an_error_is_told_once_and_does_not_end_the_watch(nomad: FakeNomad, capsys: pytest.CaptureFixture[str]) -> None:
    nomad.refuse("evaluations", 500, "No cluster leader", times=2)
    watching = watcher(nomad, Ebs(HELD, **{INSTANCE: "terminated"}))
    watching.look()
    watching.look()
    assert capsys.readouterr().out.count("No cluster leader") == 1
    watching.look()
    assert evaluated(nomad) == 1
