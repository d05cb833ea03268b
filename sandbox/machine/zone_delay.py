"""A delay between zones: what goes from one to another is led through a device, and back to the bridge later.

The kernel's netem would do it, where a kernel has it. Here a process reads packets from a tap device of the bridge and
writes them to it after the time of the setting; what stays in a zone, or is the gateway's or the file server's, goes
past it.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import select
import struct
import time
from collections import deque
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Final

from sandbox.machine import naming, processes
from sandbox.machine.commands import run
from sandbox.settings import SandboxSettings, SettingsError, load_settings, usage

_TUN: Final = Path("/dev/net/tun")
_SET_DEVICE, _SET_OFFLOAD = 0x400454CA, 0x400454D0  # TUNSETIFF, TUNSETOFFLOAD
_TAP: Final = 0x0002 | 0x1000 | 0x4000  # IFF_TAP, IFF_NO_PI, IFF_VNET_HDR
# TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6: packets as large, and checksums as open, as links of the bridge pass them.
_OFFLOAD: Final = 0x01 | 0x02 | 0x04
_PACKET: Final = 65536 + 64
_MOST_HELD: Final = 20_000
# To wake up takes about half of it, when a packet comes and again when its time does.
_EARLY_S: Final = 0.0001
_AT_ONCE: Final = 64


def pid_file(settings: SandboxSettings) -> Path:
    """Where its process is recorded."""
    return settings.run_dir / "zone-delay.pid"


def make_device(settings: SandboxSettings) -> None:
    """Makes the device on the bridge; a second time it is as it was.

    Raises:
        CloudError: this machine cannot make it.
    """
    if _exists(settings):
        return
    device = naming.delay_link_name(settings.name)
    run("ip", "tuntap", "add", "dev", device, "mode", "tap", "vnet_hdr")
    # It sends in others' names: the bridge must not look for them there.
    run("ip", "link", "set", device, "master", settings.bridge, "up")
    run("ip", "link", "set", device, "type", "bridge_slave", "learning", "off", "flood", "off", "mcast_flood", "off")


def _exists(settings: SandboxSettings) -> bool:
    return Path(f"/sys/class/net/{naming.delay_link_name(settings.name)}").exists()


def divert(settings: SandboxSettings, link: str, address: IPv4Address) -> None:
    """Leads what the host at a link sends to other zones through the device, where there is a delay."""
    if not settings.zone_delay_ms or address == settings.file_server:
        return
    device = naming.delay_link_name(settings.name)
    lines = [f"qdisc add dev {link} clsact"]
    for zone in settings.zones:
        if address not in settings.zone_subnet(zone):
            lines += [
                f"filter add dev {link} ingress protocol ip u32 match ip dst {part} "
                f"action mirred egress redirect dev {device}"
                for part in _hosts(settings.zone_subnet(zone))
            ]
    run("tc", "-batch", "-", stdin="\n".join(lines) + "\n")


def _hosts(subnet: IPv4Network) -> list[IPv4Network]:
    """A zone's addresses without those that AWS keeps, among them the gateway's and the file server's."""
    kept = IPv4Network((subnet.network_address, 30))
    return sorted(subnet.address_exclude(kept))


def start(settings: SandboxSettings) -> bool:
    """Starts the process that delays, unless it runs; says whether it had to be started.

    Raises:
        SettingsError: the sandbox was started with a delay, and now has none, or the other way round.
    """
    if _exists(settings) != bool(settings.zone_delay_ms):
        rule = f"the sandbox was started with{'' if _exists(settings) else 'out'} a delay"
        raise SettingsError("zone_delay_ms", settings.zone_delay_ms, rule, f"Run `{usage.DOWN}`, then `{usage.UP}`.")
    if not settings.zone_delay_ms or processes.is_alive(pid_file(settings)):
        return False
    log = settings.log_dir / "zone-delay.log"
    processes.start_module(settings, "sandbox.machine.zone_delay", pid_file=pid_file(settings), log_file=log)
    return True


def stop(settings: SandboxSettings) -> bool:
    """Stops it; says whether it was running."""
    return processes.stop(pid_file(settings))


def _open(device: str) -> int:
    descriptor = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(descriptor, _SET_DEVICE, struct.pack("16sH22x", device.encode(), _TAP))
    fcntl.ioctl(descriptor, _SET_OFFLOAD, _OFFLOAD)
    return descriptor


def _hold(descriptor: int, delay_s: float) -> None:
    """Writes each packet back when its time has come, for ever."""
    delay_s = max(delay_s - _EARLY_S, 0)
    held: deque[tuple[float, bytes]] = deque()
    while True:
        left = max(held[0][0] - time.monotonic(), 0) if held else None
        select.select([descriptor], [], [], left)
        with contextlib.suppress(BlockingIOError):
            for _ in range(_AT_ONCE):
                packet = os.read(descriptor, _PACKET)
                if len(held) < _MOST_HELD:
                    held.append((time.monotonic() + delay_s, packet))
        while held and held[0][0] <= time.monotonic():
            # As a link that is down, or full, drops it.
            with contextlib.suppress(OSError):
                os.write(descriptor, held.popleft()[1])


def main() -> None:
    """Delays for as long as it runs, ahead of what computes."""
    settings = load_settings()
    gc.disable()
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    _hold(_open(naming.delay_link_name(settings.name)), settings.zone_delay_ms / 1000)


if __name__ == "__main__":
    main()
