"""Whether this machine can carry the sandbox at all: root, namespaces, network links, loop devices, mounts."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sandbox.machine.namespaces import UNSHARE
from sandbox.settings import SandboxError

_CAP_SYS_ADMIN: Final = 21
_CAP_NET_ADMIN: Final = 12
_CAP_MKNOD: Final = 27


def lacking() -> str | None:
    """One sentence that says what this machine lacks, None when it has everything."""
    return next((sentence for check in _CHECKS if (sentence := check()) is not None), None)


def require() -> None:
    """Checks the machine before anything is made.

    Raises:
        SandboxError: the sentence of `lacking`.
    """
    sentence = lacking()
    if sentence is not None:
        raise SandboxError(sentence)


def _system() -> str | None:
    if platform.system() != "Linux":
        return f"The sandbox needs Linux (its instances are Linux namespaces); this is {platform.system()}."
    return None


def _root() -> str | None:
    if os.geteuid() != 0:
        return f"The sandbox needs root (namespaces, mounts, loop devices); you are uid {os.geteuid()}: use sudo."
    return None


def _capabilities() -> str | None:
    needed = {_CAP_SYS_ADMIN: "CAP_SYS_ADMIN", _CAP_NET_ADMIN: "CAP_NET_ADMIN", _CAP_MKNOD: "CAP_MKNOD"}
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("CapEff:"):
            held = int(line.split()[1], 16)
            missing = [name for bit, name in needed.items() if not held >> bit & 1]
            if missing:
                names = " and ".join(missing)
                return f"The sandbox needs {names}: this container is unprivileged; run it with --privileged."
    return None


def _loop_devices() -> str | None:
    if not Path("/dev/loop-control").exists():
        return "The sandbox needs loop devices: there is no /dev/loop-control; load the kernel module loop."
    with contextlib.suppress(FileNotFoundError):  # `up` installs it
        done = subprocess.run(["losetup", "--find"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return f"The sandbox needs loop devices and this machine refuses them ({done.stderr.strip()})."
    return None


def _namespaces() -> str | None:
    words = [*UNSHARE, "--cgroup", "true"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"The sandbox needs `unshare` of util-linux to make namespaces: {error}."
    if done.returncode != 0:
        return f"The sandbox needs new namespaces and this machine refuses them ({done.stderr.strip()})."
    return None


_CHECKS: Final[tuple[Callable[[], str | None], ...]] = (_system, _root, _capabilities, _loop_devices, _namespaces)
