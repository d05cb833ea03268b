"""What counts as an orphan: a claim of the dead, and an attachment that nothing claims."""

from typing import Any

import pytest

from tests.fake_nomad import fake_nomad
from tools.faults.checks import dead_claims, ids_by_type, running_jobs, unclaimed_attachments


def registration(status: str | None) -> dict[str, Any]:
    """A volume as Nomad describes it, claimed by an allocation of that status; None is nobody."""
    stub = {"ID": "a1b2c3d4", "JobID": "mysql-server", "NodeID": "n1", "NodeName": "client-1", "ClientStatus": status}
    return {
        "ID": "mysql",
        "ExternalID": "vol-1",
        "Allocations": [stub] if status else [],
        "ReadAllocs": {},
        "WriteAllocs": {},
    }


ATTACHED = {"VolumeId": "vol-1", "Attachments": [{"InstanceId": "i-1"}]}
FREE = {"VolumeId": "vol-2", "Attachments": []}


@pytest.mark.parametrize("status", ["lost", "failed", "complete", "unknown"])
def test_a_claim_of_an_allocation_that_is_dead_is_an_orphan(status: str) -> None:
    (found,) = dead_claims(registration(status))
    assert "a1b2c3d4 of job mysql-server on client-1" in found


@pytest.mark.parametrize("status", ["pending", "running", None])
def test_a_claim_of_an_allocation_that_lives_is_none(status: str | None) -> None:
    assert dead_claims(registration(status)) == []


def test_a_claim_whose_allocation_was_collected_is_an_orphan() -> None:
    volume = registration(None) | {"WriteAllocs": {"a1b2c3d4": None}}
    assert len(dead_claims(volume)) == 1


def test_an_attachment_that_nothing_claims_is_an_orphan() -> None:
    assert unclaimed_attachments([ATTACHED, FREE], [registration(None)]) == [
        "attachment of vol-1 to i-1, which nothing claims"
    ]
    assert len(unclaimed_attachments([ATTACHED], [])) == 1


def test_an_attachment_that_is_claimed_is_none() -> None:
    assert unclaimed_attachments([ATTACHED, FREE], [registration("running")]) == []


@pytest.mark.parametrize(("tasks", "runs"), [({}, 1), ({"mysql": {}}, 2)], ids=["restored alone", "runs on"])
def test_one_that_has_to_stop_counts_while_a_task_of_it_runs(tasks: dict[str, Any], runs: int) -> None:
    stub = {"Namespace": "default", "ClientStatus": "running"}
    with fake_nomad() as nomad:
        nomad.put("jobs", [{"ID": "mysql-server", "Namespace": "default", "Status": "running", "ParentID": ""}])
        kept = [{**stub, "ID": "new", "DesiredStatus": "run"}, {**stub, "ID": "old", "DesiredStatus": "stop"}]
        nomad.put("job/mysql-server/allocations", kept)
        nomad.put("client/allocation/old/stats", {"Tasks": tasks})
        assert running_jobs(nomad.api) == {"default/mysql-server": runs}


def test_the_ids_of_a_state_are_told_by_type() -> None:
    state = [{"type": "aws:ebs/volume:Volume", "id": "vol-1"}, {"type": "nomad:index/job:Job", "id": "mysql-server"}]
    assert ids_by_type(state) == {"Volume": {"vol-1"}, "Job": {"mysql-server"}}
