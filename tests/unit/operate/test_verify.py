"""The drain in the check that data persists: to which clients the job can go, and that the drain is ended."""

from typing import Any

import pytest

from nomad_stateful.nomad.fingerprint import ZONE_ATTRIBUTE
from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.operate import verify
from nomad_stateful.operate.cluster import Cluster
from nomad_stateful.operate.errors import OperateError
from tests.fake_nomad import FakeNomad

AT = Endpoint("alloc-1", "own", "client-1", "10.0.0.1", 3306)
ELSEWHERE = Endpoint("alloc-2", "other", "client-2", "10.0.0.2", 3306)
ENDED = ["node/own/drain", "node/own/eligibility"]


def client(client_id: str, zone: str = "us-west-2a", **more: Any) -> dict[str, Any]:
    ready = {"ID": client_id, "Name": client_id, "Status": "ready", "SchedulingEligibility": "eligible"}
    return ready | {"Attributes": {ZONE_ATTRIBUTE: zone}} | more


@pytest.fixture
def cluster(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """MySQL, which runs elsewhere as soon as it is looked for."""
    monkeypatch.setattr(Cluster, "endpoint", lambda _self, **_where: ELSEWHERE)
    nomad.put("node/own", client("own"))
    return Cluster(nomad.api, "mysql-server", "default", group="mysql", port_label="db")


def test_a_client_that_is_collected_meanwhile_does_not_end_the_check(
    nomad: FakeNomad, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    there = [client("own"), client("collected"), client("other")]
    nomad.put("nodes", there)
    nomad.put("node/other", there[-1])
    assert verify.drain(cluster, AT, "us-west-2a", 1) == ELSEWHERE
    assert capsys.readouterr().out == "==> draining client-1; in us-west-2a there is also other\n"
    assert nomad.requested("PUT") == ["node/own/drain", *ENDED]


@pytest.mark.parametrize(
    "other",
    [
        client("other", zone="us-west-2b"),
        client("other", Status="down"),
        client("other", SchedulingEligibility="ineligible"),
    ],
)
def test_where_no_other_client_can_take_the_job_nothing_is_drained(
    nomad: FakeNomad, cluster: Cluster, other: dict[str, Any]
) -> None:
    nomad.put("node/other", other)
    with pytest.raises(OperateError, match="client-1 is the only ready client in us-west-2a"):
        verify.drain(cluster, AT, "us-west-2a", 1)
    assert nomad.requested("PUT") == []
