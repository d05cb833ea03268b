"""Reaching into a running instance: its device nodes, its mounts, and everything that uses a disk."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import time
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

from sandbox.machine import namespaces, naming
from sandbox.machine.errors import CloudError
from sandbox.machine.machine import parents
from sandbox.machine.waiting import until

_PAUSE_TIMEOUT_S = 20.0


def show_disk(pid: int, volume_id: str, device: str) -> None:
    """Makes a disk appear in the instance of the process, under the names that Linux and udev give it."""
    root = Path(f"/proc/{pid}/root")
    node = root / device.lstrip("/")
    node.unlink(missing_ok=True)
    os.mknod(node, stat.S_IFBLK | 0o660, Path(device).stat().st_rdev)
    link = root / "dev/disk/by-id" / naming.by_id_name(volume_id)
    link.unlink(missing_ok=True)
    link.symlink_to(f"../../{node.name}")


def hide_disk(pid: int, volume_id: str, device: str) -> None:
    """Makes a disk disappear from the instance of the process."""
    root = Path(f"/proc/{pid}/root")
    (root / "dev/disk/by-id" / naming.by_id_name(volume_id)).unlink(missing_ok=True)
    (root / device.lstrip("/")).unlink(missing_ok=True)


def processes(first: int) -> list[int]:
    """Every process of an instance: those in its pid namespace (also entered ones) and all that descend from them."""
    parent_of = parents()
    home = _pid_namespace(first)
    members = {pid for pid in parent_of if home and _pid_namespace(pid) == home} | {first}
    grown = True
    while grown:
        more = {pid for pid, parent in parent_of.items() if parent in members} - members
        members |= more
        grown = bool(more)
    return sorted(members)


def mount_points(pid: int, device: str) -> list[str]:
    """Where a process sees file systems of a disk mounted."""
    rdev = Path(device).stat().st_rdev
    wanted = f"{os.major(rdev)}:{os.minor(rdev)}"
    found = []
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            fields = line.split(" ")
            if fields[2] == wanted:
                found.append(fields[4].encode().decode("unicode_escape"))
    return found


def tear_off_disk(first: int, device: str) -> None:
    """Ends everything in an instance that uses a disk, as if it had been pulled out: mounts go, users are killed."""
    members = processes(first)
    seen: set[str] = set()
    for pid in members:
        with contextlib.suppress(OSError):
            namespace = str(Path(f"/proc/{pid}/ns/mnt").readlink())
            if namespace in seen:
                continue
            seen.add(namespace)
            for point in reversed(mount_points(pid, device)):
                namespaces.inside(pid, "mnt", partial(namespaces.detach_mount, point))
    rdev = Path(device).stat().st_rdev
    for pid in members:
        if pid != first and _uses(pid, rdev):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _pid_namespace(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""


def _uses(pid: int, rdev: int) -> bool:
    folder = Path(f"/proc/{pid}")
    with contextlib.suppress(OSError):
        for link in (folder / "cwd", folder / "root", *(folder / "fd").iterdir()):
            with contextlib.suppress(OSError):
                found = link.stat()
                if found.st_dev == rdev or (stat.S_ISBLK(found.st_mode) and found.st_rdev == rdev):
                    return True
    return False


@contextlib.contextmanager
def paused(first: int) -> Iterator[None]:
    """Stops every process of an instance for a moment, so that none of them writes to its disks.

    Nothing is flushed: what only the instance's memory has does not reach a disk. The process that wakes them waits for
    the end of its input: a hypervisor that dies cannot leave them stopped.
    """
    # It knows each process before that is stopped.
    script = 'pids=; while read -r pid; do pids="$pid $pids"; echo noted; done; kill -CONT $pids 2>/dev/null; :'
    with subprocess.Popen(
        ["sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as waker:
        assert waker.stdin is not None  # noqa: S101 - asked for above
        assert waker.stdout is not None  # noqa: S101 - asked for above
        stopped: set[int] = set()
        try:
            deadline = time.monotonic() + _PAUSE_TIMEOUT_S
            # Until a look finds no process that was started meanwhile, and every thread has come to a stop.
            while new := [pid for pid in processes(first) if pid not in stopped and not _is_stopped(pid)]:
                # Before what it started, and woken after it: an nsenter that is told of a stop stops itself, for good.
                for more in ([one for pid in new for one in _entered_by(pid) if one not in stopped], new):
                    for pid in more:
                        waker.stdin.write(f"{pid}\n")
                        waker.stdin.flush()
                        waker.stdout.readline()
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGSTOP)
                    stopped.update(more)
                    _wait_until_stopped(stopped, deadline)
            yield
        finally:
            waker.stdin.close()


def _wait_until_stopped(pids: Collection[int], deadline: float) -> None:
    if not until(lambda: all(map(_is_stopped, pids)), deadline - time.monotonic(), pause_s=0.005):
        raise CloudError(f"the processes of an instance did not pause within {_PAUSE_TIMEOUT_S:.0f} s")


def _entered_by(pid: int) -> list[int]:
    """Returns the nsenter, outside of the instance, that waits for a process: it stops itself when that is stopped."""
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        parent = int(status.rpartition(")")[2].split()[1])
        if Path(f"/proc/{parent}/comm").read_text(encoding="utf-8").strip() == "nsenter":
            return [parent]
    return []


def _is_stopped(pid: int) -> bool:
    """Returns whether no thread of a process runs: each is stopped, or has ended."""
    threads = Path(f"/proc/{pid}/task")
    with contextlib.suppress(OSError):
        for thread in threads.iterdir():
            with contextlib.suppress(OSError):
                state = (thread / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
                if state not in "TtZX":
                    return False
    return True
