"""What the program reads out of its stack's own state, and what it does with volumes whose zone is empty."""

from concurrent.futures import Future
from typing import Any

import pulumi
import pytest

from nomad_stateful.program.prefetch import CallError
from nomad_stateful.program.preflight import clients, stack_state
from nomad_stateful.program.settings import SettingsError
from nomad_stateful.sdk import Cluster, ClusterNode
from tests.unit.program.answers import NODE, answered
from tests.unit.program.recorder import planned

GUARD = {"type": "nomad-csi:index:VolumeGuard", "outputs": {"volumeName": "data[0]", "zone": "us-west-2b"}}
SEGMENTS = {"topology.ebs.csi.aws.com/zone": "us-west-2c"}
MADE = {
    "type": "nomad:index/csiVolume:CsiVolume",
    "outputs": {
        "volumeId": "made",
        "topologyRequest": {"required": {"topologies": [{"segments": SEGMENTS}]}},
    },
}
OTHERS = [
    {"type": "pulumi:providers:nomad", "outputs": {}},
    {"type": "nomad:index/csiVolume:CsiVolume", "outputs": {"volumeId": "everywhere"}},
]


class Engine:
    """The engine, with a state."""

    def __init__(self, *resources: dict[str, Any], refuses: str = "") -> None:
        self.resources = resources
        self.refuses = refuses
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def call(self, function: str, args: dict[str, Any]) -> "Future[dict[str, Any]]":
        self.calls.append((function, args))
        outputs = {str(number): one for number, one in enumerate(self.resources)}
        return answered(CallError(self.refuses) if self.refuses else {"outputs": outputs})


@pytest.fixture(autouse=True)
def _stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulumi, "get_organization", lambda: "ours")
    monkeypatch.setattr(pulumi, "get_project", lambda: "nomad-stateful")
    monkeypatch.setattr(pulumi, "get_stack", lambda: "test")


def zones(engine: Engine) -> dict[str, str]:
    return stack_state.volume_zones(engine)  # type: ignore[arg-type]


def test_zones_are_those_that_guards_remember_and_drivers_were_told() -> None:
    engine = Engine(GUARD, MADE, *OTHERS)
    assert zones(engine) == {"data[0]": "us-west-2b", "made": "us-west-2c"}
    assert [args["stackName"] for _, args in engine.calls] == ["ours/nomad-stateful/test"]


def test_a_backend_without_organizations_is_asked_by_the_plain_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulumi, "get_organization", lambda: "organization")
    engine = Engine(GUARD)
    zones(engine)
    assert engine.calls[0][1]["stackName"] == "test"


def test_a_new_stack_has_no_volumes() -> None:
    assert zones(Engine()) == {}


def test_a_state_that_cannot_be_read_is_an_error_and_not_an_empty_one() -> None:
    with pytest.raises(
        SettingsError, match=r"the stack's state is not usable: which volumes the stack has cannot be read: 403"
    ):
        zones(Engine(refuses="403"))


def empty_zone(monkeypatch: pytest.MonkeyPatch, *state: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What is refused and what is warned of, with a volume in us-west-2b and clients in us-west-2a only."""
    warned: list[str] = []
    monkeypatch.setattr(pulumi, "warn", warned.append)
    wanted = planned(
        {
            "clientRole": "clients",
            "plugins": [{"id": "aws-ebs0", "driver": "ebs"}],
            "volumes": [{"name": "data", "count": 1, "zones": ["us-west-2b"], "sizeGib": 1}],
        }
    )
    cluster = Cluster.of({"version": "2.0.5", "servers": [], "nodes": [NODE], "zones": ["us-west-2a"]})
    assert isinstance(cluster.nodes[0], ClusterNode)
    refused = clients.without_client(wanted, cluster, Engine(*state))  # type: ignore[arg-type]
    return [str(problem) for problem in refused], warned


def test_a_volume_in_a_zone_without_clients_stays_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    refused, [warning] = empty_zone(monkeypatch, GUARD)
    assert refused == []
    assert warning.startswith(
        "volumes.data[0].zone is us-west-2b: no Nomad client is in this zone (clients are in: us-west-2a). A volume "
        "that exists stays there with its data"
    )
    assert "start one in us-west-2b" in warning
    assert "nomad-stateful snapshot 'data[0]'" in warning


def test_a_new_volume_where_no_client_is_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    [refused], warned = empty_zone(monkeypatch)
    assert refused.startswith("volumes.data[0].zone is us-west-2b: no Nomad client is in this zone")
    assert warned == []
