"""Ports that a test's server listens on later, and that no other process is given meanwhile."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

# Below what Linux gives to whoever asks for any port (from 32768), and what Nomad gives to jobs (from 20000).
_FIRST, _LAST = 10_000, 19_999


def unused_ports(count: int) -> list[int]:
    """TCP ports of 127.0.0.1 that nobody listens on; drawn, so that tests beside each other get different ones."""
    found: list[int] = []
    with ExitStack() as held:
        while len(found) < count:
            port = random.randint(_FIRST, _LAST)
            try:
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
    return found


def unused_port() -> int:
    return unused_ports(1)[0]
