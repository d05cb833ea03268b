"""Who listens on a port: the sandbox names the holder of a port it needs."""

from __future__ import annotations

import contextlib
import os
import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from pathlib import Path
from typing import Final

from sandbox.settings import SandboxSettings, SettingsError

_LISTEN: Final = "0A"


@dataclass(frozen=True)
class Listener:
    """A listening TCP socket; pid 0 when its process cannot be seen from here."""

    address: str
    port: int
    pid: int
    command: str


def listeners(proc: Path = Path("/proc")) -> list[Listener]:
    """All listening TCP sockets of this network namespace."""
    sockets = _sockets(proc)
    owners = _owners(proc, set(sockets))
    return [
        Listener(address, port, owners.get(inode, 0), _command(proc, owners.get(inode, 0)))
        for inode, (address, port) in sockets.items()
    ]


def is_listening(address: IPv4Address, port: int) -> bool:
    """Whether something listens on exactly this address, without sending anything there."""
    return (str(address), port) in _sockets(Path("/proc")).values()


def refuse_taken(settings: SandboxSettings, keys: tuple[str, ...], found: list[Listener] | None = None) -> None:
    """Checks that nothing else listens on the ports of these settings (`ports.<key>`).

    Raises:
        SettingsError: names the port and who holds it.
    """
    known = listeners() if found is None else found
    for key in keys:
        port: int = getattr(settings, f"{key}_port")
        for holder in known:
            if holder.port == port and _covers(holder.address, settings.gateway):
                who = (
                    f"{holder.command} (pid {holder.pid})" if holder.pid else "a process that cannot be seen from here"
                )
                raise SettingsError(
                    f"ports.{key}",
                    port,
                    f"{who} listens on {holder.address}:{port}",
                    "Stop it, or set another port in sandbox.toml.",
                )


def _sockets(proc: Path) -> dict[str, tuple[str, int]]:
    """Address and port of the listening sockets, by inode."""
    sockets: dict[str, tuple[str, int]] = {}
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (proc / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN:
                    address, port = fields[1].split(":")
                    sockets[fields[9]] = (_address(address), int(port, 16))
    return sockets


def _covers(address: str, wanted: IPv4Address) -> bool:
    return address in ("0.0.0.0", "::", str(wanted))  # noqa: S104 - read from the kernel, not bound


def _address(words: str) -> str:
    # The kernel prints the address as 32-bit words in the machine's byte order.
    packed = b"".join(struct.pack("=I", int(words[start : start + 8], 16)) for start in range(0, len(words), 8))
    address = ip_address(packed)
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def _owners(proc: Path, inodes: set[str]) -> dict[str, int]:
    owners: dict[str, int] = {}
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            for descriptor in (folder / "fd").iterdir():
                with contextlib.suppress(OSError):
                    target = os.readlink(descriptor)  # noqa: PTH115 - a socket is no path
                    inode = target.removeprefix("socket:[").removesuffix("]")
                    if inode != target and inode in inodes:
                        owners[inode] = int(folder.name)
    return owners


def _command(proc: Path, pid: int) -> str:
    with contextlib.suppress(OSError):
        words = (proc / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
        return " ".join(words).strip()[:80]
    return ""
