"""Which cluster a command works on, and how a purged job comes back."""

import re
from collections.abc import Iterator
from contextlib import closing, nullcontext
from typing import Any

import pytest
from botocore.exceptions import ClientError

from nomad_stateful.ebs.ec2_client import Ec2Unavailable
from nomad_stateful.nomad.api import NomadApiError, NomadUnreachable
from nomad_stateful.operate import ownership, stack
from nomad_stateful.operate.cluster import Cluster, connect, wait_for
from nomad_stateful.operate.errors import OperateError, TimedOutError
from nomad_stateful.operate.ownership import WrongClusterError
from nomad_stateful.waiting import RetryPolicy
from tests.fake_nomad import FakeNomad
from tests.fake_nomad.answers import Asked

MYSQL = {"nomadId": "mysql", "id": "vol-1"}


def register(nomad: FakeNomad, **external_ids: str) -> None:
    nomad.put("volumes", [{"ID": name, "ExternalID": of, "Namespace": "data"} for name, of in external_ids.items()])


def state(*, delete: bool = False, pending: bool = False, **external_ids: str) -> dict[str, Any]:
    """An engine's state with registrations, which may be on their way out."""
    token = "nomad:index/csiVolumeRegistration:CsiVolumeRegistration"
    known = [
        {"type": token, "urn": name, "delete": delete, "outputs": {"volumeId": name, "externalId": of}}
        for name, of in external_ids.items()
    ]
    cut_off = [{"resource": {"urn": name}, "type": "deleting"} for name in external_ids if pending]
    return {"resources": known, "pending_operations": cut_off}


def stored(monkeypatch: pytest.MonkeyPatch, known: dict[str, Any], **outputs: Any) -> None:
    answers = {"stack": {"deployment": known}, "output": outputs}
    monkeypatch.setattr(stack, "_json", lambda *words: answers["output" if "output" in words else "stack"])
    stack.outputs.cache_clear()


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    stack.outputs.cache_clear()


def test_the_stacks_cluster_has_the_stacks_volumes(nomad: FakeNomad) -> None:
    register(nomad, mysql="vol-1")
    assert ownership.namespaces(nomad.api, {"mysql": MYSQL}) == {"mysql": "data"}
    ownership.refuse_another(nomad.api, state(mysql="vol-1", spare="vol-2"))


def test_a_cluster_with_none_of_the_stacks_volumes_is_another_one(
    nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(nomad, other="vol-9")
    stored(monkeypatch, state(mysql="vol-1"), volumes={"mysql": MYSQL})
    for refused in (
        lambda: ownership.namespaces(nomad.api, {"mysql": MYSQL}),
        lambda: ownership.required(nomad.api),
        lambda: ownership.refuse_another(nomad.api, state(mysql="vol-1")),
    ):
        with pytest.raises(
            WrongClusterError, match=r"has none of the stack's volumes, such as mysql \(vol-1\): it is an"
        ):
            refused()


def test_a_cluster_with_other_volumes_of_the_same_ids_is_another_one(nomad: FakeNomad) -> None:
    register(nomad, mysql="vol-9")
    with pytest.raises(WrongClusterError, match=r"has none of the stack's volumes, such as mysql \(vol-1\)"):
        ownership.refuse_another(nomad.api, state(mysql="vol-1"))


@pytest.mark.parametrize("known", [state(), state(mysql="vol-1", pending=True), state(mysql="vol-1", delete=True)])
def test_a_stack_that_is_half_destroyed_may_be_looked_at_and_not_acted_on(
    nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch, known: dict[str, Any]
) -> None:
    register(nomad)
    stored(monkeypatch, known, volumes={"mysql": MYSQL})
    assert ownership.namespaces(nomad.api, {"mysql": MYSQL}) == {}
    ownership.refuse_another(nomad.api, known)
    with pytest.raises(WrongClusterError, match="by which it could be told whose cluster that is: nothing was changed"):
        ownership.required(nomad.api)


def test_the_cluster_is_that_of_the_stacks_own_configuration(monkeypatch: pytest.MonkeyPatch, nomad: FakeNomad) -> None:
    known = {"nomad:address": nomad.address, "nomad:region": "north", "nomad:secretId": "of-up", "aws:region": "x"}
    monkeypatch.setattr(stack, "config", lambda: known)
    monkeypatch.setenv("NOMAD_ADDR", "http://another:4646")
    monkeypatch.setenv("NOMAD_REGION", "south")
    monkeypatch.delenv("NOMAD_OPERATOR_TOKEN", raising=False)
    with closing(connect()) as made:
        assert made.get("jobs") == []
    assert nomad.requests[-1].query["region"] == "north"
    monkeypatch.setattr(stack, "config", lambda: known | {"nomad-csi:address": "http://first:4646"})
    with closing(connect()) as made:
        assert made.address == "http://first:4646"


def test_an_election_is_waited_out(monkeypatch: pytest.MonkeyPatch, nomad: FakeNomad) -> None:
    monkeypatch.setattr(stack, "config", lambda: {"nomad:address": nomad.address})
    nomad.refuse("jobs", 500, "No cluster leader", times=1)
    with closing(connect()) as made:
        assert made.get("jobs") == []


TRANSIENT = [
    NomadApiError(500, "No cluster leader"),
    NomadUnreachable("no answer"),
    Ec2Unavailable("EC2 does not answer"),
    ClientError({"Error": {"Code": "RequestLimitExceeded"}}, "DescribeSnapshots"),
]


@pytest.mark.parametrize("error", TRANSIENT, ids=str)
def test_a_wait_goes_on_over_a_transient_error(error: Exception) -> None:
    answers: Iterator[Exception | str] = iter([error, error, "there"])

    def probe() -> str:
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return found

    assert wait_for("it is there", probe, 5, "", poll_s=0.001) == "there"


@pytest.mark.parametrize("error", TRANSIENT, ids=str)
def test_a_wait_for_what_never_answers_ends_and_says_why(error: Exception) -> None:
    def probe() -> None:
        raise error

    with pytest.raises(TimedOutError, match=re.escape(str(error))):
        wait_for("it is there", probe, 0, "", poll_s=0.001)


@pytest.mark.parametrize(
    "error", [NomadApiError(403, "Permission denied"), ClientError({"Error": {"Code": "UnauthorizedOperation"}}, "x")]
)
def test_a_wait_ends_at_any_other_error(error: Exception) -> None:
    def probe() -> None:
        raise error

    with pytest.raises(type(error)):
        wait_for("it is there", probe, 5, "", poll_s=0.001)


def test_another_volume_under_the_same_id_is_another_cluster(nomad: FakeNomad) -> None:
    register(nomad, mysql="vol-2")
    with pytest.raises(WrongClusterError, match="mysql is vol-1 in the stack, but vol-2 in the Nomad cluster at"):
        ownership.namespaces(nomad.api, {"mysql": MYSQL})
    # As after an `up` that was cut off.
    register(nomad, mysql="vol-2", spare="vol-3")
    spare = {"nomadId": "spare", "id": "vol-3"}
    assert ownership.namespaces(nomad.api, {"mysql": MYSQL, "spare": spare}) == {"spare": "data"}


def test_a_cluster_without_the_volume_is_not_worked_on(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> None:
    register(nomad)
    monkeypatch.setattr(ownership, "connect", lambda: nomad.api)
    stored(monkeypatch, state(), volumes={"mysql": MYSQL})
    with pytest.raises(WrongClusterError, match="has no volume mysql"):
        ownership.stack_cluster("mysql")


@pytest.fixture
def cluster(nomad: FakeNomad) -> Cluster:
    """That of a job, which stops at once."""
    nomad.put("job/mysql-server", {"Version": 3, "Stop": False, "TaskGroups": []})
    nomad.put("job/mysql-server/submission", {"Source": "job file"})
    return Cluster(nomad.api, "mysql-server", "default", group="mysql", port_label="db")


@pytest.mark.parametrize("stops", [True, False])
def test_a_job_comes_back_as_it_ran_whatever_becomes_of_the_purge(
    nomad: FakeNomad, cluster: Cluster, stops: bool
) -> None:
    kept = nomad.api.get("job/mysql-server")
    if not stops:
        nomad.refuse("job/mysql-server", 500, "it does not stop", method="DELETE")
    with nullcontext() if stops else pytest.raises(NomadApiError, match="it does not stop"):
        cluster.purge_and_register()
    purges = [asked.query.get("purge") for asked in nomad.requests if asked.method == "DELETE"]
    assert purges == ([None, "true"] if stops else [None])
    own = {"EnforceIndex": True, "JobModifyIndex": 0 if stops else kept["JobModifyIndex"]}
    assert nomad.sent("jobs") == [{"Job": kept, "Submission": {"Source": "job file"}, **own}]


@pytest.mark.parametrize("purged", [False, True])
def test_a_job_that_somebody_else_registers_meanwhile_stays(
    nomad: FakeNomad, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, purged: bool
) -> None:
    def deployed(asked: Asked) -> None:
        if purged == ("purge" in asked.query):
            nomad.put("job/mysql-server", {"Version": 5, "Stop": False, "TaskGroups": [{"Name": "new"}]})

    monkeypatch.setattr("nomad_stateful.operate.cluster._ENDS_S", 0.0)
    nomad.after["DELETE job/mysql-server"] = deployed
    with pytest.raises(OperateError, match="somebody else registered mysql-server since it was stopped"):
        cluster.purge_and_register()
    assert nomad.api.get("job/mysql-server")["TaskGroups"] == [{"Name": "new"}]


LOST = "leadership lost while committing log"


def test_a_job_that_was_stopped_without_an_answer_comes_back(nomad: FakeNomad, cluster: Cluster) -> None:
    nomad.refuse("job/mysql-server", 500, LOST, method="DELETE")
    nomad.after["DELETE job/mysql-server"] = lambda _: nomad.change("job/mysql-server", Stop=True)
    with pytest.raises(NomadApiError, match=LOST):
        cluster.purge_and_register()
    assert nomad.api.get("job/mysql-server")["Stop"] is False


def test_a_job_that_came_back_without_an_answer_is_no_one_elses(nomad: FakeNomad, cluster: Cluster) -> None:
    def registered(_asked: Asked) -> None:
        nomad.after.clear()
        nomad.put("job/mysql-server", kept)

    kept = nomad.api.get("job/mysql-server")
    cluster.nomad = nomad.client(RetryPolicy(30, pauses_s=[0]))
    nomad.refuse("jobs", 500, LOST, times=1, method="PUT")
    nomad.after["PUT jobs"] = registered
    cluster.purge_and_register()
    assert len(nomad.sent("jobs")) == 2


def test_a_job_whose_source_nomad_cannot_decode_comes_back_without_it(nomad: FakeNomad, cluster: Cluster) -> None:
    kept = nomad.api.get("job/mysql-server")
    nomad.refuse("job/mysql-server/submission", 500, 'invalid URL escape "%I\'"')
    cluster.purge_and_register()
    assert nomad.sent("jobs") == [{"Job": kept, "Submission": None, "EnforceIndex": True, "JobModifyIndex": 0}]
