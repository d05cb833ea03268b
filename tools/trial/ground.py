"""Where a test's sandbox stands: a name and a subnet that no other on this machine has."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from string import ascii_lowercase
from typing import Final

from sandbox.machine.ports import is_listening

_NOMAD_PORT: Final = 4646
_PLOTS: Final = tuple(IPv4Network("10.174.0.0/16").subnets(new_prefix=24))


@dataclass(frozen=True)
class Ground:
    """A sandbox's name and subnet."""

    name: str
    subnet: IPv4Network
    servers: int = 1
    """Nomad servers; several are in as many zones."""
    clients: int = 0
    """Clients, in turn in its zones; 0 for those that a sandbox has by itself."""
    zone_delay_ms: float = 0
    """Of a packet between two zones, each way."""

    @property
    def gateway(self) -> IPv4Address:
        """The address that the sandbox's server and cloud listen on."""
        return self.subnet.network_address + 1

    @property
    def zones(self) -> list[str]:
        """The zones of its servers."""
        return [f"us-west-2{letter}" for letter in ascii_lowercase[: self.servers]]

    @property
    def config(self) -> str:
        """What sandbox.toml says of it."""
        own = f'name = "{self.name}"\nsubnet = "{self.subnet}"\n'
        if self.servers == 1:
            return own
        clients = [
            f'[[instances]]\nname = "client-{number + 1}"\nzone = "{self.zones[number % self.servers]}"\n'
            for number in range(self.clients)
        ]
        zones = f"zones = {json.dumps(self.zones)}\nservers = {self.servers}\nzone_delay_ms = {self.zone_delay_ms}\n"
        return f"{own}{zones}{''.join(clients)}"


def claim() -> Ground:
    """A subnet that is free, and a name for it, for as long as this process lives.

    Other test processes, of other clones too, are kept off by a lock. Raises AssertionError when all are taken.
    """
    folder = Path(tempfile.gettempdir()) / "nomad-stateful-test-subnets"
    folder.mkdir(exist_ok=True)
    for number, subnet in enumerate(_PLOTS):
        ground = Ground(f"nt{number}", subnet)
        if _stands(ground):
            continue
        # Left open: the lock ends with the process.
        lock = os.open(folder / str(subnet.network_address), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            return ground
    raise AssertionError(f"all {len(_PLOTS)} subnets of test sandboxes are taken: {_PLOTS[0]} to {_PLOTS[-1]}")


def _stands(ground: Ground) -> bool:
    """Whether a sandbox is there, or its Nomad server alone: it outlives a test that was killed, and maybe its home."""
    return Path(f"/sys/class/net/{ground.name}-br").exists() or is_listening(ground.gateway, _NOMAD_PORT)
