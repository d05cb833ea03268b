"""The sandbox's network: one bridge on the host, one link per instance, no route to anywhere else."""

from __future__ import annotations

import hashlib
import json
import logging
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Final

from sandbox.machine import firewall, naming, zone_delay
from sandbox.machine.commands import run
from sandbox.machine.errors import CloudError
from sandbox.settings import SandboxSettings

LOG: Final = logging.getLogger(__name__)

INSIDE_LINK: Final = "eth0"
_OWNER: Final = "nomad-stateful sandbox in "


def create_bridge(settings: SandboxSettings) -> None:
    """Makes the bridge with the gateway's address; one that an earlier run of this sandbox left is taken over.

    Raises:
        CloudError: the bridge's name or the subnet belongs to something else, which is named.
    """
    owner = _signature(settings)
    holder = link_owner(settings.bridge)
    if holder is not None and holder != owner:
        by = f"the {holder}" if holder.startswith(_OWNER) else "something that is not a sandbox"
        raise CloudError(
            f"name is {settings.name!r}: the network link {settings.bridge} exists and belongs to {by}. "
            f"Use another name in sandbox.toml, or remove it with `ip link delete {settings.bridge}`."
        )
    refuse_overlap(settings.subnet, settings.bridge)
    if holder is None:
        run("ip", "link", "add", settings.bridge, "address", _bridge_mac(settings), "type", "bridge")
        run("ip", "link", "set", settings.bridge, "alias", owner)
    if reason := firewall.install(settings):
        LOG.warning("other interfaces of this machine reach %s: %s", settings.subnet, reason)
    if settings.zone_delay_ms:
        # Before the address, by which others know that the bridge is made.
        zone_delay.make_device(settings)
    address = f"{settings.gateway}/{settings.subnet.prefixlen}"
    run("ip", "address", "replace", address, "dev", settings.bridge)
    run("ip", "link", "set", settings.bridge, "up")


def remove_bridge(settings: SandboxSettings) -> bool:
    """Removes the bridge if it is this sandbox's own; says whether it did."""
    owner = link_owner(settings.bridge)
    if owner not in {None, _signature(settings)}:
        return False
    firewall.remove(settings)
    delete_link(naming.delay_link_name(settings.name))
    return delete_link(settings.bridge)


def is_inside(settings: SandboxSettings, address: str) -> bool:
    """Whether an address is of this sandbox's network or of the machine's loopback."""
    return (found := IPv4Address(address)) in settings.subnet or found.is_loopback


def refuse_overlap(subnet: IPv4Network, bridge: str) -> None:
    """Raises CloudError when an address or route of another link overlaps the subnet."""
    for entry in json.loads(run("ip", "-json", "-4", "route", "show", "table", "all") or "[]"):
        destination, device = str(entry.get("dst", "default")), str(entry.get("dev", "?"))
        if destination == "default" or device in {bridge, "lo"}:
            continue
        if IPv4Network(destination, strict=False).overlaps(subnet):
            raise CloudError(
                f"subnet is {str(subnet)!r}: this machine already reaches {destination} through {device}. "
                "Use a free one in sandbox.toml, like 10.173.87.0/24."
            )


def connect(settings: SandboxSettings, link: str, namespace: Path, address: IPv4Address, mac: str) -> None:
    """Gives a network namespace its eth0, connected to the bridge."""
    delete_link(link)
    ends = (link, "type", "veth", "peer", "name", INSIDE_LINK, "address", mac, "netns", str(namespace))
    run("ip", "link", "add", *ends)
    run("ip", "link", "set", link, "master", settings.bridge, "up")
    zone_delay.divert(settings, link, address)
    inside = (
        f"address add {address}/{settings.subnet.prefixlen} broadcast + dev {INSIDE_LINK}\nlink set {INSIDE_LINK} up\n"
    )
    run("nsenter", f"--net={namespace}", "ip", "-batch", "-", stdin=inside)


def connect_metadata(pid: int, namespace: Path, address: str) -> None:
    """Connects the instance of the process to a network namespace that has the address, and nothing else to it."""
    ends = ("name", "metadata", "netns", str(pid), "type", "veth", "peer", "name", INSIDE_LINK, "netns", str(namespace))
    run("ip", "link", "add", *ends)
    there = (
        f"address add {address}/32 dev {INSIDE_LINK}\nlink set {INSIDE_LINK} up\nroute add default dev {INSIDE_LINK}\n"
    )
    run("nsenter", f"--net={namespace}", "ip", "-batch", "-", stdin=there)
    here = f"link set metadata up\nroute add {address}/32 dev metadata\n"
    run("nsenter", "--target", str(pid), "--net", "ip", "-batch", "-", stdin=here)


def set_links(links: list[str], *, up: bool) -> None:
    """Plugs cables in or pulls them out, all at once."""
    lines = [f"link set {link} {'up' if up else 'down'}\n" for link in links]
    run("ip", "-batch", "-", stdin="".join(lines))


def delete_link(link: str) -> bool:
    """Deletes a network link; says whether there was one."""
    if link_owner(link) is None:
        return False
    try:
        run("ip", "link", "delete", link)
    except CloudError:
        # A link goes by itself together with the namespace at its other end.
        if link_owner(link) is not None:
            raise
    return True


def links_of(settings: SandboxSettings) -> list[str]:
    """Links that are plugged into this sandbox's bridge."""
    if link_owner(settings.bridge) != _signature(settings):
        return []
    links = json.loads(run("ip", "-json", "link", "show", "master", settings.bridge) or "[]")
    # Links that are left out of the list may be in it as {}.
    return [str(link["ifname"]) for link in links if link]


def link_owner(name: str) -> str | None:
    """The owner written on a network link ("" when nobody signed it); None when there is no such link."""
    # Asked for by its name: a list of all is not whole when others' links come and go meanwhile.
    try:
        (link,) = json.loads(run("ip", "-json", "link", "show", "dev", name))
    except CloudError as error:
        if "does not exist" in str(error):
            return None
        raise
    return str(link.get("ifalias", ""))


def _signature(settings: SandboxSettings) -> str:
    # The kernel keeps at most 255 bytes.
    return (_OWNER + str(settings.home))[:200]


def _bridge_mac(settings: SandboxSettings) -> str:
    # A fixed address: otherwise the bridge takes the lowest one of its ports and changes it as instances come and go.
    digest = hashlib.sha256(f"{settings.name} {settings.home}".encode()).digest()
    return ":".join(["02"] + [f"{byte:02x}" for byte in digest[:5]])
