"""What a sandbox listens on, as the kernel tells it: on the machine and inside each instance."""

import contextlib
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

_PROC = Path("/proc")
# States of include/net/tcp_states.h: a TCP socket that listens, a UDP one that takes what comes.
_OPEN = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}


@dataclass(frozen=True)
class OpenSocket:
    """A socket that takes what is sent to it."""

    protocol: str
    address: IPv4Address | IPv6Address
    port: int
    inode: str


def in_namespace_of(pid: int) -> list[OpenSocket]:
    """Every open socket of a process's network namespace."""
    found = []
    for protocol, state in _OPEN.items():
        for line in (_PROC / str(pid) / "net" / protocol).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == state:
                words, port = fields[1].split(":")
                found.append(OpenSocket(protocol, _address(words), int(port, 16), fields[9]))
    return found


def on_the_machine(home: Path) -> list[OpenSocket]:
    """Open sockets of the sandbox's daemons and their descendants in the machine's own network namespace."""
    owned = {inode for pid in _family(home) for inode in _inodes(pid)}
    return [found for found in in_namespace_of(os.getpid()) if found.inode in owned]


def instances(home: Path) -> dict[str, int]:
    """The first process of each instance, by name."""
    records = [json.loads(path.read_text()) for path in (home / "ec2/instances").glob("*/instance.json")]
    return {record["name"]: record["first_process"]["pid"] for record in records}


def _family(home: Path) -> set[int]:
    family = {int(path.read_text()) for path in (home / "run").glob("*.pid")}
    parents = {int(path.name): _parent(path) for path in _PROC.iterdir() if path.name.isdigit()}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def _parent(process: Path) -> int:
    with contextlib.suppress(OSError):
        return int((process / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    return 0


def _inodes(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for descriptor in (_PROC / str(pid) / "fd").iterdir():
            with contextlib.suppress(OSError):
                target = str(descriptor.readlink())
                if target.startswith("socket:["):
                    yield target.removeprefix("socket:[").removesuffix("]")


def _address(words: str) -> IPv4Address | IPv6Address:
    # The kernel prints 32-bit words in the machine's byte order.
    packed = b"".join(struct.pack("=I", int(words[start : start + 8], 16)) for start in range(0, len(words), 8))
    address = ip_address(packed)
    return getattr(address, "ipv4_mapped", None) or address
