"""Three zones with a Nomad server in each: a zone that is cut off takes its server along, and the other two go on."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from nomad_stateful.nomad.api import NomadApi, NomadError
from sandbox.cluster import server, tls
from sandbox.machine import processes
from sandbox.settings import SandboxSettings
from tools.faults.lane import settings_of
from tools.trial.ground import claim
from tools.trial.namespaces import management
from tools.trial.running import Running, ended_well, eventually, traces

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad, pytest.mark.nightly]

ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
INSTANCE = '[[instances]]\nname = "client-{letter}"\nzone = "us-west-2{letter}"\n'
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


def test_a_balancer_that_is_killed_is_started_again(running: Running, settings: SandboxSettings) -> None:
    record = processes.read_record(settings.run_dir / "nomad-balancer.pid")
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    assert processes.await_end(record, timeout_s=10)
    assert leads(settings) is None
    ended_well(running.sandbox("up", "--no-stack"))
    assert leads(settings) in ZONES


def test_a_second_up_changes_nothing(running: Running) -> None:
    assert "Nothing changed" in ended_well(running.sandbox("up", "--no-stack")).stdout


def test_another_number_of_servers_is_refused_while_the_sandbox_runs(running: Running) -> None:
    file = running.project / "sandbox.toml"
    written = file.read_text()
    file.write_text(written.replace("servers = 3", "servers = 1"))
    try:
        done = running.sandbox("up", "--no-stack")
    finally:
        file.write_text(written)
    assert done.returncode == 1
    assert "servers is 1: the sandbox was started with 3. Run `make down`, then `make up`." in done.stderr
