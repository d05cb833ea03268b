"""What is known of Nomad's clients, and the requests that take one out of service."""

import threading
from typing import Any

import pytest

from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadNotFound
from tests.fake_nomad import FakeNomad

READY = {"ID": "b", "Name": "client-1", "Status": "ready", "SchedulingEligibility": "eligible"}


def test_a_client_that_was_collected_since_it_was_listed_is_left_out(nomad: FakeNomad) -> None:
    nomad.put("nodes", [READY | {"ID": "a", "Name": "client-2"}, READY])
    nomad.put("node/b", READY)
    assert [one.name for one in clients.listed(nomad.api)] == ["client-1", "client-2"]
    assert [one.id for one in clients.read(nomad.api)] == ["b"]
    assert clients.find(nomad.api, "a") is None


def test_a_list_that_is_not_there_is_an_error_and_not_a_cluster_without_clients(nomad: FakeNomad) -> None:
    nomad.put("nodes", None)
    with pytest.raises(NomadNotFound):
        clients.listed(nomad.api)
    with pytest.raises(NomadNotFound):
        clients.read(nomad.api)


def test_many_clients_are_read_eight_at_a_time_in_the_order_of_the_list() -> None:
    class Meeting:
        """Answers once eight requests are there."""

        together = threading.Barrier(8, timeout=10)

        def find(self, path: str) -> dict[str, Any]:
            self.together.wait()
            return READY | {"ID": path.removeprefix("node/")}

    stubs = [clients.ClientStub(str(number), f"client-{number}", "ready") for number in range(16)]
    api: Any = Meeting()
    assert [one.id for one in clients.read(api, stubs)] == [stub.id for stub in stubs]


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({}, "ready"),
        ({"SchedulingEligibility": "ineligible"}, "ineligible"),
        ({"SchedulingEligibility": "ineligible", "Drain": True}, "draining"),
        ({"SchedulingEligibility": "ineligible", "DrainStrategy": {"Deadline": 1}}, "draining"),
        ({"Status": "down", "SchedulingEligibility": "ineligible"}, "down"),
    ],
)
def test_its_state_says_what_keeps_new_allocations_away(nomad: FakeNomad, change: dict[str, Any], state: str) -> None:
    nomad.put("nodes", [READY | change])
    (client,) = clients.listed(nomad.api)
    assert (client.state, client.takes_work) == (state, state == "ready")


def test_what_is_for_jobs_leaves_out_what_the_client_keeps_for_itself(nomad: FakeNomad) -> None:
    reserved = {"Cpu": {"CpuShares": 100}, "Memory": {"MemoryMB": 500}}
    whole = {"Cpu": {"CpuShares": 4000}, "Memory": {"MemoryMB": 8000}}
    nomad.put("node/b", READY | {"NodeResources": whole, "ReservedResources": reserved})
    client = clients.get(nomad.api, "b")
    assert (client.cpu_mhz, client.memory_mib, client.zone, client.instance_id) == (3900, 7500, "", "")
