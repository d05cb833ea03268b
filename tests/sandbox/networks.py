"""Networks of the tests' own around a machine: namespaces, and the links between them."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import TypeVar

from sandbox.machine.namespaces import inside_of

PATIENCE_S = 1.0
"""How long a connection is waited for: a packet that is dropped is answered never."""

T = TypeVar("T")


@dataclass(frozen=True)
class Network:
    """A network namespace."""

    name: str

    def run(self, work: Callable[[], T]) -> T:
        return inside_of(Path("/run/netns") / self.name, "net", work)

    def ip(self, *words: str) -> None:
        subprocess.run(["ip", "-n", self.name, *words], check=True)

    def reaches(self, address: IPv4Address, port: int) -> bool:
        """Whether a connection from here is taken."""

        def connect() -> bool:
            try:
                socket.create_connection((str(address), port), timeout=PATIENCE_S).close()
            except OSError:
                return False
            return True

        return self.run(connect)

    def listen(self, address: IPv4Address, port: int) -> socket.socket:
        return self.run(lambda: socket.create_server((str(address), port)))


@contextlib.contextmanager
def network(name: str) -> Iterator[Network]:
    """A network namespace, taken away at the end with the links in it."""
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        made = Network(name)
        made.ip("link", "set", "lo", "up")
        yield made
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


def plug(name: str, inner: Network, subnet: IPv4Network, gateway: IPv4Address, at: Network | None, master: str) -> None:
    """Links a namespace to a machine: to a bridge of its, or (master is "") straight, as a neighbour is."""
    prefix = ["ip", *(["-n", at.name] if at else [])]
    subprocess.run(
        [*prefix, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", inner.name], check=True
    )
    if master:
        subprocess.run([*prefix, "link", "set", name, "master", master], check=True)
    elif gateway in subnet:
        subprocess.run([*prefix, "address", "add", f"{gateway}/{subnet.prefixlen}", "dev", name], check=True)
    subprocess.run([*prefix, "link", "set", name, "up"], check=True)
    inner.ip("address", "add", f"{subnet[-2]}/{subnet.prefixlen}", "dev", "eth0")
    inner.ip("link", "set", "eth0", "up")
    inner.ip("route", "add", "default", "via", str(gateway))
