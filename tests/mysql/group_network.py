"""A network of a test's own, which processes and threads enter."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

_NETWORK = "ip link set lo up; for address; do ip address add $address/32 dev lo; done; echo up; exec sleep infinity"
_CLONE_NEWNET = 0x40000000


@dataclass
class Network:
    """A network of a test's own, and threads in it."""

    holder: subprocess.Popen[str]
    threads: ThreadPoolExecutor

    @property
    def enter(self) -> list[str]:
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net"]


@contextlib.contextmanager
def network(addresses: Iterable[str]) -> Iterator[Network]:
    """A network with these addresses on its loopback; gone at the end."""
    command = ["unshare", "--net", "sh", "-ec", _NETWORK, "network", *addresses]
    with contextlib.ExitStack() as stack:
        holder = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(holder.kill)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "up\n"
        handle = os.open(f"/proc/{holder.pid}/ns/net", os.O_RDONLY)
        stack.callback(os.close, handle)

        def enter() -> None:
            assert ctypes.CDLL(None, use_errno=True).setns(handle, _CLONE_NEWNET) == 0

        yield Network(holder, stack.enter_context(ThreadPoolExecutor(8, initializer=enter)))
