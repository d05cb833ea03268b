"""The sandbox's network among a machine's others: by itself Linux answers for an address on each interface."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from sandbox.machine import firewall
from sandbox.machine import network as sandbox_network
from sandbox.settings import SandboxSettings, parse_settings
from tests.sandbox.networks import Network, network, plug

pytestmark = [pytest.mark.sandbox, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

LAN = IPv4Network("192.0.2.0/29")
PORT = 5000


class World:
    """A machine with a sandbox's bridge, a neighbour on another link, and a host on the bridge."""

    def __init__(self, settings: SandboxSettings, stack: ExitStack) -> None:
        mark = f"{os.getpid()}"
        self.settings = settings
        self.machine, self.neighbour, self.inside = (
            stack.enter_context(network(f"{kind}{mark}")) for kind in ("machine", "neighbour", "inside")
        )
        self.machine.run(lambda: sandbox_network.create_bridge(settings))
        plug("lan", self.neighbour, LAN, LAN[1], self.machine, "")
        plug("port", self.inside, settings.subnet, settings.gateway, self.machine, settings.bridge)
        self.machine.run(lambda: Path("/proc/sys/net/ipv4/ip_forward").write_text("1"))
        self.host = settings.subnet[-2]
        stack.enter_context(self.machine.listen(settings.gateway, PORT))
        stack.enter_context(self.inside.listen(self.host, PORT))

    def reached_by(self, who: Network) -> tuple[bool, bool]:
        """Whether somebody reaches the machine's address on the bridge, and a host on it."""
        return who.reaches(self.settings.gateway, PORT), who.reaches(self.host, PORT)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(parse_settings({"subnet": "198.18.86.0/24"}, tmp_path_factory.mktemp("networks")), stack)


def test_the_machine_and_the_bridge_reach_the_sandbox(world: World) -> None:
    assert world.reached_by(world.machine) == (True, True)
    assert world.reached_by(world.inside) == (True, True)


def test_a_neighbour_on_another_link_does_not(world: World) -> None:
    assert world.reached_by(world.neighbour) == (False, False)


def test_without_the_rule_a_neighbour_would(world: World) -> None:
    assert world.machine.run(lambda: firewall.remove(world.settings))
    assert world.reached_by(world.neighbour) == (True, True)
    assert world.machine.run(lambda: firewall.install(world.settings)) == ""
    assert world.machine.run(lambda: firewall.install(world.settings)) == "", "twice is as once"
    assert world.reached_by(world.neighbour) == (False, False)


def test_the_rule_goes_with_the_bridge(world: World) -> None:
    assert world.machine.run(lambda: firewall.is_installed(world.settings))
    assert world.machine.run(lambda: sandbox_network.remove_bridge(world.settings))
    assert not world.machine.run(lambda: firewall.is_installed(world.settings))
    assert not world.machine.run(lambda: sandbox_network.remove_bridge(world.settings))


def test_a_machine_without_nft_says_why_there_is_no_rule(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "nft is not installed" in firewall.install(world.settings)
    assert not firewall.is_installed(world.settings)
    assert not firewall.remove(world.settings)
