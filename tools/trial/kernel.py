"""What the kernel lets the sandbox's instances do."""

from pathlib import Path

_CAP_SYS_RESOURCE = 24


def may_grow_mounted_ext4() -> bool:
    """Whether a process here can have CAP_SYS_RESOURCE, which the kernel asks for before it grows a mounted ext4."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapBnd:"):
            return bool(int(line.split()[1], 16) >> _CAP_SYS_RESOURCE & 1)
    raise AssertionError("/proc/self/status has no CapBnd")
