"""The OCI runtime of the sandbox's daemons: runc, told about the machine that instances share. Standard library only.

It takes out of a container's configuration the capabilities that this machine withholds even from root, at which runc
would fail, and adds the variables in VARIABLES, which say where the sandbox's AWS is: in a container nothing else can.
A container that may mount gets what is listed in STORAGE: the file servers of this machine, which it reaches as files.
Run as a plain script by containerd: `runtime.py [OPTION]... create --bundle FOLDER | exec --process FILE | ...`.
"""

import json
import os
import shutil
import sys
from typing import Any

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
VARIABLES = "/mnt/etc/container.env"
STORAGE = "/mnt/etc/container-mounts.json"
MAY_MOUNT = "CAP_SYS_ADMIN"

# https://github.com/torvalds/linux/blob/master/include/uapi/linux/capability.h, in the order of their bits.
CAPABILITIES = [
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"),
    *("LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER"),
    *("SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE"),
    *("SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP"),
    *("MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF"),
    "CHECKPOINT_RESTORE",
]


def held() -> set[str]:
    """The capabilities that a process of this machine can have."""
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123 - pathlib would triple the start-up time
        mask = next(int(line.split()[1], 16) for line in status if line.startswith("CapBnd:"))
    return {f"CAP_{name}" for bit, name in enumerate(CAPABILITIES) if mask >> bit & 1}


def adapt(process: dict[str, Any], has: set[str], variables: list[str]) -> None:
    """Changes a process's configuration in place."""
    for kind, wanted in (process.get("capabilities") or {}).items():
        process["capabilities"][kind] = [name for name in wanted or [] if name in has]
    known = {entry.partition("=")[0] for entry in process.get("env") or []}
    process["env"] = [*(process.get("env") or []), *(one for one in variables if one.partition("=")[0] not in known)]


def variables() -> list[str]:
    """The variables that every container of this instance gets."""
    try:
        with open(VARIABLES, encoding="utf-8") as file:  # noqa: PTH123 - as above
            return file.read().split()
    except FileNotFoundError:
        return []


def storage() -> dict[str, str]:
    """What a container that may mount sees, by its place there."""
    try:
        with open(STORAGE, encoding="utf-8") as file:  # noqa: PTH123 - as above
            return dict(json.load(file))
    except FileNotFoundError:
        return {}


def show(config: dict[str, Any], places: dict[str, str]) -> None:
    """Adds mounts to a container's configuration, where the container may mount by itself."""
    capabilities = (config.get("process") or {}).get("capabilities") or {}
    if MAY_MOUNT in (capabilities.get("effective") or []):
        options = ["rbind", "rslave", "rw"]
        config["mounts"] = [
            *(config.get("mounts") or []),
            *({"destination": to, "type": "bind", "source": at, "options": options} for to, at in places.items()),
        ]


def value_of(arguments: list[str], *names: str) -> str:
    """The value of an option, written as one word or two."""
    for index, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else arguments[index + 1]
    return ""


def rewrite(path: str, *, whole: bool) -> None:
    """Adapts the configuration in a file: a whole container's, or that of one process more."""
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - as above
        config = json.load(file)
    process = config.get("process") if whole else config
    if process:
        adapt(process, held(), variables())
        if whole:
            show(config, storage())
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - as above
            json.dump(config, file)


def main(arguments: list[str]) -> None:
    """Adapts what is about to start, and becomes runc."""
    if "create" in arguments or "run" in arguments:
        rewrite(os.path.join(value_of(arguments, "--bundle", "-b") or ".", "config.json"), whole=True)  # noqa: PTH118
    elif "exec" in arguments and value_of(arguments, "--process", "-p"):
        rewrite(value_of(arguments, "--process", "-p"), whole=False)
    os.execv(shutil.which("runc", path=PATH) or "runc", ["runc", *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
