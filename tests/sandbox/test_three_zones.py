"""Three zones with a Nomad server in each: a zone that is cut off takes its server along, and the other two go on."""

import os
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.nomad.api import NomadApi, NomadError
from sandbox.cluster import server, tls
from sandbox.machine import inventory, processes
from sandbox.machine.namespaces import inside_of, network_of
from sandbox.settings import SandboxSettings
from tools.faults.lane import settings_of
from tools.trial.ground import claim
from tools.trial.namespaces import management
from tools.trial.running import Running, ended_well, eventually, traces

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad, pytest.mark.nightly]

ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
INSTANCE = '[[instances]]\nname = "client-{letter}"\nzone = "us-west-2{letter}"\n'
DELAY_MS = 5
TRIES = 20
# Longer than an election, and than Nomad takes to call a client down.
LOST_S = 120
JOB = """
job "hello" {
  group "hello" {
    count = 3

    constraint {
      distinct_hosts = true
    }

    task "hello" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "exec sleep 100000"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    ground = replace(claim(), servers=3)
    prepared = Running.prepare(tmp_path_factory.mktemp("project"), ground)
    with (prepared.project / "sandbox.toml").open("a") as file:
        file.write(f"zone_delay_ms = {DELAY_MS}\n")
        file.write("".join(INSTANCE.format(letter=zone[-1]) for zone in ZONES))
    with prepared.up("--no-stack"):
        yield prepared
    remains = traces(ground.name, prepared.project / ".sandbox")
    assert {kind: found for kind, found in remains.items() if found} == {}


@pytest.fixture
def settings(running: Running) -> SandboxSettings:
    return settings_of(running)


@pytest.fixture
def nomad(running: Running) -> Iterator[NomadApi]:
    api = management(running)
    yield api
    api.close()


def leads(settings: SandboxSettings) -> str | None:
    """The zone of the server that leads; None while there is none."""
    try:
        return server.leader(settings).zone
    except NomadError:
        return None


def is_whole(nomad: NomadApi) -> bool:
    """Whether all three servers vote and are healthy, so that either may be lost."""
    try:
        health = nomad.get("operator/autopilot/health", timeout_s=5)
    except NomadError:
        return False
    voters = [one for one in health["Servers"] if one["Voter"] and one["Healthy"]]
    return len(voters) == 3 and health["FailureTolerance"] == 1


def await_whole(nomad: NomadApi) -> None:
    eventually(lambda: is_whole(nomad) or None, LOST_S, "three healthy servers vote")
    eventually(lambda: set(states(nomad).values()) == {"ready"} or None, LOST_S, "every client is ready")


def states(nomad: NomadApi) -> dict[str, str]:
    return {node["Name"]: node["Status"] for node in nomad.get("nodes")}


def placed(nomad: NomadApi) -> dict[str, str]:
    """The client of each allocation that runs."""
    stubs: list[dict[str, Any]] = nomad.get("job/hello/allocations")
    return {stub["ID"]: stub["NodeName"] for stub in stubs if stub["ClientStatus"] == "running"}


def submit(nomad: NomadApi) -> None:
    nomad.put("jobs", {"Job": nomad.put("jobs/parse", {"JobHCL": JOB, "Canonicalize": True})})
    eventually(lambda: len(placed(nomad)) == 3 or None, LOST_S, "an instance of the job runs on each client")


def round_trip_ms(namespace: Path, address: IPv4Address) -> float:
    """The quickest of some round trips from a network namespace: one to a port that nobody has is answered at once."""

    def once() -> float:
        began = time.perf_counter()
        with socket.socket() as there, pytest.raises(ConnectionRefusedError):
            there.connect((str(address), 9))
        return (time.perf_counter() - began) * 1000

    return inside_of(namespace, "net", lambda: min(once() for _ in range(TRIES)))


def test_the_delay_is_between_zones_and_not_within_one_nor_from_the_machine(settings: SandboxSettings) -> None:
    servers = {one.zone: one.address for one in settings.nomad_servers}
    for spec in settings.instances:
        client = inventory.find(settings, spec.name)
        assert client.first_process is not None
        inside = network_of(client.first_process.pid)
        took = {zone: round_trip_ms(inside, address) for zone, address in servers.items()}
        assert took.pop(spec.zone) < DELAY_MS
        assert all(2 * DELAY_MS * 0.9 < ms < 4 * DELAY_MS for ms in took.values()), took
        assert round_trip_ms(inside, settings.file_server) < DELAY_MS
        assert round_trip_ms(network_of(os.getpid()), settings.instance_address(spec)) < DELAY_MS


def test_three_servers_one_a_zone_elect_one_of_them(settings: SandboxSettings, nomad: NomadApi) -> None:
    await_whole(nomad)
    raft = nomad.get("operator/raft/configuration")["Servers"]
    expected = {f"{one.address}:{settings.nomad_rpc_port}" for one in settings.nomad_servers}
    assert {one["Address"] for one in raft} == expected
    said = set()
    for one in settings.nomad_servers:
        assert one.zone is not None
        assert one.address in settings.zone_subnet(one.zone)
        api = tls.connect(settings, server=one)
        said.add(api.get("status/leader"))
        api.close()
    assert len(said) == 1
    assert said <= expected


@pytest.mark.parametrize("zone", ZONES)
def test_a_zone_that_is_cut_off_takes_its_server_along_and_the_others_go_on(
    running: Running, settings: SandboxSettings, nomad: NomadApi, zone: str
) -> None:
    submit(nomad)
    await_whole(nomad)
    lost = f"client-{zone[-1]}"
    before = {allocation: client for allocation, client in placed(nomad).items() if client != lost}
    led = leads(settings)
    running.ctl("cut", zone)
    try:
        seen: list[dict[str, str]] = []

        def is_lost() -> bool | None:
            try:
                seen.append(states(nomad))
            except NomadError:
                return None
            return seen[-1][lost] == "down" or None

        eventually(is_lost, LOST_S, f"Nomad, by its address, calls {lost} down")
        assert leads(settings) in set(ZONES) - {zone}
        assert (leads(settings) == led) == (led != zone)
        others = {name: {one[name] for one in seen} for name in seen[0] if name != lost}
        assert others == {name: {"ready"} for name in others}, "no other client is called down"
        assert placed(nomad).items() >= before.items(), "what runs in the other zones goes on"
        nomad.put("var/proof", {"Path": "proof", "Items": {"zone": zone}})
        eventually(lambda: not is_whole(nomad) or None, LOST_S, "the server in the zone is missed")
    finally:
        running.ctl("heal", zone)
    await_whole(nomad)
    assert nomad.get("var/proof")["Items"] == {"zone": zone}
    assert placed(nomad).items() >= before.items()


def test_a_leader_that_is_killed_is_replaced_and_up_starts_it_again(
    running: Running, settings: SandboxSettings, nomad: NomadApi
) -> None:
    await_whole(nomad)
    killed = server.leader(settings)
    record = processes.read_record(server.pid_file(settings, killed))
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    eventually(lambda: leads(settings) not in (None, killed.zone) or None, LOST_S, "another server leads")
    ended_well(running.sandbox("up", "--no-stack"))
    await_whole(nomad)


@pytest.mark.parametrize("name", ["nomad-balancer", "zone-delay"])
def test_a_balancer_or_a_delay_that_is_killed_is_started_again(
    running: Running, settings: SandboxSettings, nomad: NomadApi, name: str
) -> None:
    record = processes.read_record(settings.run_dir / f"{name}.pid")
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    eventually(lambda: leads(settings) is None or None, LOST_S, "nobody leads, or is led to")
    ended_well(running.sandbox("up", "--no-stack"))
    await_whole(nomad)


def test_a_second_up_changes_nothing(running: Running) -> None:
    assert "Nothing changed" in ended_well(running.sandbox("up", "--no-stack")).stdout


@pytest.mark.parametrize(
    ("line", "other", "refusal"),
    [
        ("servers = 3", "servers = 1", "servers is 1: the sandbox was started with 3."),
        (f"zone_delay_ms = {DELAY_MS}", "", "zone_delay_ms is 0.0: the sandbox was started with a delay."),
    ],
)
def test_what_a_sandbox_was_started_with_stays(running: Running, line: str, other: str, refusal: str) -> None:
    file = running.project / "sandbox.toml"
    written = file.read_text()
    file.write_text(written.replace(line, other))
    try:
        done = running.sandbox("up", "--no-stack")
    finally:
        file.write_text(written)
    assert done.returncode == 1
    assert f"{refusal} Run `make down`, then `make up`." in done.stderr
