"""`nomad-stateful failover`: when a lost client's job may start elsewhere, and which instances are stopped for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from nomad_stateful.ebs.volumes import Attachment, EbsVolumes, Volume
from nomad_stateful.nomad.api import NomadApi, NomadUnreachable
from nomad_stateful.nomad.fingerprint import INSTANCE_ATTRIBUTE
from nomad_stateful.recovery.failover import delayed_jobs, judge
from nomad_stateful.recovery.watcher import Watcher

VOLUME, INSTANCE, OTHER = "vol-0123456789abcdef0", "i-0a", "i-0b"
HELD = {VOLUME: Volume(VOLUME, "in-use", [Attachment(INSTANCE, "/dev/xvdaa", "busy")])}
FREE = {VOLUME: Volume(VOLUME, "available")}


def node(name: str, status: str, instance_id: str) -> dict[str, Any]:
    return {"ID": f"node-{name}", "Name": name, "Status": status, "Attributes": {INSTANCE_ATTRIBUTE: instance_id}}


class Nomad:
    """A cluster whose MySQL was lost with client-1, and waits."""

    def __init__(self, **changes: Any) -> None:
        self.evaluated: list[str] = []
        self.nodes = [node("1", "down", INSTANCE), node("2", "ready", OTHER), node("3", "ready", "i-0c")]
        self.evaluation = {"ID": "eval-1", "JobID": "mysql", "Namespace": "default", "TriggeredBy": "alloc-failure"}
        self.allocation = {"ID": "a", "NodeID": "node-1", "FollowupEvalID": "eval-1", "ClientStatus": "lost"}
        self.more: list[dict[str, Any]] = []
        """Further allocations that were lost, each with an evaluation of its own unless it names the first."""
        self.external_id = VOLUME
        self.silent = False
        for name, value in changes.items():
            setattr(self, name, value)

    def get(self, path: str, **_: Any) -> Any:
        if self.silent:
            raise NomadUnreachable("no server answers")
        if path == "evaluations":
            more = {one["FollowupEvalID"] for one in self.more} - {self.evaluation["ID"]}
            return [self.evaluation, *({**self.evaluation, "ID": one} for one in sorted(more))]
        if path == "nodes":
            return [{"ID": one["ID"], "Status": one["Status"]} for one in self.nodes]
        raise AssertionError(path)

    def find(self, path: str, **_: Any) -> Any:
        if path == "job/mysql/allocations":
            return [self.allocation, *self.more]
        if path == "job/mysql":
            return {"TaskGroups": [{"Volumes": {"data": {"Type": "csi", "Source": "data"}}}]}
        if path == "volume/csi/data":
            return {"ExternalID": self.external_id}
        return next((one for one in self.nodes if path == f"node/{one['ID']}"), None)

    def put(self, path: str, _body: Any, **_: Any) -> None:
        self.evaluated.append(path)


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


def watcher(nomad: Nomad, ebs: Ebs, *, fence: bool = False, volumes: tuple[str, ...] = ("data",)) -> Watcher:
    known = frozenset(("default", one) for one in volumes)
    return Watcher(cast("NomadApi", nomad), cast("EbsVolumes", ebs), fence, known)


def verdict(nomad: Nomad, ebs: Ebs) -> str:
    (job,) = delayed_jobs(cast("NomadApi", nomad), "default")
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
    state: str, volumes: Mapping[str, Volume], expected: str
) -> None:
    assert verdict(Nomad(), Ebs(volumes, **{INSTANCE: state})) == expected


def test_a_volume_that_many_may_mount_counts_as_held_while_the_instance_runs() -> None:
    assert verdict(Nomad(external_id="fs-1"), Ebs(FREE)) == "wait"
    assert verdict(Nomad(external_id="fs-1"), Ebs(FREE, **{INSTANCE: "stopped"})) == "start"


def test_without_the_instance_of_the_lost_client_it_waits() -> None:
    assert verdict(Nomad(nodes=[]), Ebs(FREE)) == "wait"


def test_a_client_that_is_back_is_not_fenced() -> None:
    assert verdict(Nomad(nodes=[node("1", "ready", INSTANCE)]), Ebs(HELD)) == "wait"


@pytest.mark.parametrize(
    "changes",
    [
        {"allocation": {"ID": "a", "NodeID": "n", "FollowupEvalID": "eval-1", "ClientStatus": "failed"}},
        {"allocation": {"ID": "a", "NodeID": "n", "FollowupEvalID": "another", "ClientStatus": "lost"}},
        {"evaluation": {"ID": "eval-1", "JobID": "mysql", "Namespace": "default", "TriggeredBy": "queued-allocs"}},
    ],
)
def test_a_job_that_waits_for_something_else_is_left_alone(changes: dict[str, Any]) -> None:
    assert not list(delayed_jobs(cast("NomadApi", Nomad(**changes)), "default"))


def test_nomad_is_asked_to_evaluate_the_job_once() -> None:
    nomad = Nomad()
    watching = watcher(nomad, Ebs(HELD, **{INSTANCE: "terminated"}))
    watching.look()
    watching.look()
    assert nomad.evaluated == ["job/mysql/evaluate"]


def lost_too(evaluation_id: str, **more: str) -> dict[str, Any]:
    """The allocation of client 2."""
    return {"ID": "b", "NodeID": "node-2", "FollowupEvalID": evaluation_id, "ClientStatus": "lost", **more}


@pytest.mark.parametrize("evaluation_id", ["eval-1", "eval-2"])
def test_a_job_that_lost_two_clients_waits_for_both_since_an_evaluation_places_both(evaluation_id: str) -> None:
    nodes = [node("1", "down", INSTANCE), node("2", "down", OTHER), node("3", "ready", "i-0c")]
    nomad = Nomad(nodes=[*nodes, node("4", "ready", "i-0d")], more=[lost_too(evaluation_id)])
    # The first is terminated; the second is cut off, and writes.
    held = {VOLUME: Volume(VOLUME, "in-use", [Attachment(OTHER, "/dev/xvdaa", "busy")])}
    ebs = Ebs(held, **{INSTANCE: "terminated"})
    watching = watcher(nomad, ebs, fence=True)
    watching.look()
    assert nomad.evaluated == []
    assert ebs.stopped == [OTHER]
    ebs.states[OTHER] = "stopped"
    watching.look()
    watching.look()
    assert nomad.evaluated == ["job/mysql/evaluate"]


def test_a_client_that_is_lost_after_the_first_was_replaced_is_judged_by_itself() -> None:
    nodes = [node("1", "ready", INSTANCE), node("2", "down", OTHER), node("3", "ready", "i-0c")]
    nomad = Nomad(nodes=nodes)
    watching = watcher(nomad, Ebs(HELD, **{INSTANCE: "terminated"}))
    watching.look()
    assert len(nomad.evaluated) == 1
    # Its instance runs again, with the volume that its second allocation uses.
    nomad.allocation["NextAllocation"] = "c"
    nomad.more = [lost_too("eval-2")]
    watching = watcher(nomad, Ebs(HELD, **{OTHER: "terminated"}))
    watching.look()
    assert len(nomad.evaluated) == 2


def test_jobs_without_a_volume_of_the_stack_are_left_alone() -> None:
    nomad = Nomad()
    watcher(nomad, Ebs(HELD, **{INSTANCE: "terminated"}), volumes=("another",)).look()
    assert nomad.evaluated == []


def test_an_instance_that_may_write_is_only_stopped_where_that_is_asked_for() -> None:
    for fence, stopped in ((False, []), (True, [INSTANCE])):
        nomad = Nomad()
        ebs = Ebs(HELD)
        watching = watcher(nomad, ebs, fence=fence)
        watching.look()
        watching.look()
        assert ebs.stopped == stopped
        assert nomad.evaluated == []


def test_a_fenced_job_starts_elsewhere_once_its_instance_is_stopped() -> None:
    nomad, ebs = Nomad(), Ebs(HELD)
    watching = watcher(nomad, ebs, fence=True)
    for state in ("running", "stopping", "stopped"):
        ebs.states[INSTANCE] = state
        assert nomad.evaluated == []
        watching.look()
    assert nomad.evaluated == ["job/mysql/evaluate"]


def test_nothing_is_fenced_while_the_servers_may_be_what_is_cut_off(capsys: pytest.CaptureFixture[str]) -> None:
    nomad = Nomad(nodes=[node("1", "down", INSTANCE), node("2", "down", OTHER), node("3", "ready", "i-0c")])
    ebs = Ebs(HELD)
    watcher(nomad, ebs, fence=True).look()
    assert ebs.stopped == []
    assert "2 clients are down and 1 ready, so the servers may be what is cut off" in capsys.readouterr().out


def test_clients_whose_instances_are_gone_do_not_count_against_a_fence() -> None:
    nodes = [node("1", "down", INSTANCE), node("2", "down", OTHER), node("3", "ready", "i-0c")]
    nodes.append(node("4", "ready", "i-0d"))
    ebs = Ebs(HELD, **{OTHER: "terminated"})
    watcher(Nomad(nodes=nodes), ebs, fence=True).look()
    assert ebs.stopped == [INSTANCE]


def test_an_error_is_told_once_and_does_not_end_the_watch(capsys: pytest.CaptureFixture[str]) -> None:
    nomad = Nomad(silent=True)
    watching = watcher(nomad, Ebs(HELD, **{INSTANCE: "terminated"}))
    watching.look()
    watching.look()
    assert capsys.readouterr().out.count("no server answers") == 1
    nomad.silent = False
    watching.look()
    assert nomad.evaluated == ["job/mysql/evaluate"]
