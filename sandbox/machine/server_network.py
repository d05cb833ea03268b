"""The network of a Nomad server in a zone: a namespace with a link to the bridge, which outlives the server."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path

from sandbox.machine import naming, network
from sandbox.machine.commands import run
from sandbox.settings import SandboxSettings


def namespace(settings: SandboxSettings, zone: str) -> Path:
    """Returns the file that stands for the network namespace of a zone's server."""
    return settings.run_dir / f"server-{zone}.net"


def ensure(settings: SandboxSettings, zone: str, address: IPv4Address) -> None:
    """Makes what is missing of the network of a zone's server.

    Raises:
        CloudError: this machine cannot make it.
    """
    file, link = namespace(settings, zone), naming.server_link_name(settings.name, zone)
    if _is_mounted(file) and network.link_owner(link) is not None:
        return
    remove(settings, zone)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(mode=0o600)
    run("unshare", f"--net={file}", "ip", "link", "set", "lo", "up")
    mac = ":".join(f"{byte:02x}" for byte in b"\x02\x00" + address.packed)
    network.connect(settings, link, file, address, mac)


def remove(settings: SandboxSettings, zone: str) -> None:
    """Removes the network of a zone's server with its link; none is fine."""
    file = namespace(settings, zone)
    if not file.exists():
        return
    network.delete_link(naming.server_link_name(settings.name, zone))
    if _is_mounted(file):
        run("umount", "--lazy", file)
    file.unlink()


def _is_mounted(file: Path) -> bool:
    return file.exists() and file.stat().st_dev != file.parent.stat().st_dev
