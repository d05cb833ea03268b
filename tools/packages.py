"""The system's own programs that the sandbox calls; what is missing is installed with apt-get."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SYSTEM_FOLDERS: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_SHOWN_LINES: Final = 10
_POLICY: Final = Path("/usr/sbin/policy-rc.d")
_NO_STARTS: Final = "#!/bin/sh\n# Of the sandbox of nomad-stateful, while it installs packages.\nexit 101\n"

DEBIAN_KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"
"""The keys that Debian signs its archive with."""


class PackageError(Exception):
    """A program is missing and cannot be installed; the message names it and what to do."""


@dataclass(frozen=True)
class Requirement:
    """Commands that are needed (any of `commands` will do), and the Debian packages that bring them."""

    commands: tuple[str, ...]
    packages: tuple[str, ...]
    purpose: str
    services: tuple[str, ...] = ()
    """Units that the packages would start, now and at each boot of the machine: they are kept from it."""
    files: tuple[str, ...] = ()
    """Files of the packages that are needed beside the commands."""


SANDBOX: Final = (
    Requirement(("mkfs.xfs",), ("xfsprogs",), "volumes with xfs"),
    Requirement(("mkfs.ext4",), ("e2fsprogs",), "volumes with ext4"),
    Requirement(("ip",), ("iproute2",), "the instances' network"),
    Requirement(("nsenter",), ("util-linux",), "the instances' namespaces"),
    Requirement(("losetup",), ("mount",), "the instances' disks"),
    Requirement(("bindfs",), ("bindfs",), "mounts of the file server's shares"),
    Requirement(
        ("dockerd",),
        ("docker.io",),
        "the instances' docker daemons",
        ("docker.service", "docker.socket", "containerd.service"),
    ),
    Requirement(("debootstrap",), ("debootstrap",), "building images"),
    Requirement(
        ("gpgv",), ("gpgv", "debian-archive-keyring"), "verifying the packages of images", files=(DEBIAN_KEYRING,)
    ),
    Requirement(("iptables",), ("iptables",), "the containers' network"),
)

FIREWALL: Final = (Requirement(("nft",), ("nftables",), "keeping the machine's other networks out of the sandbox's"),)
"""What a sandbox can do without, and then says so."""

TESTS: Final = (
    Requirement(("shellcheck",), ("shellcheck",), "checking the shell scripts"),
    Requirement(("node",), ("nodejs",), "judging IAM policies in the tests"),
    Requirement(("npm",), ("npm",), "judging IAM policies in the tests"),
    Requirement(("promtool",), ("prometheus",), "checking and firing the alert rules", ("prometheus.service",)),
    Requirement(
        ("prometheus-node-exporter",),
        ("prometheus-node-exporter",),
        "firing the alert rules",
        ("prometheus-node-exporter.service",),
    ),
    Requirement(
        ("docker-registry",), ("docker-registry",), "pulling images in the tests", ("docker-registry.service",)
    ),
    Requirement(
        ("prometheus-mysqld-exporter",),
        ("prometheus-mysqld-exporter",),
        "firing the alert rules",
        ("prometheus-mysqld-exporter.service",),
    ),
)

C_COMPILER: Final = Requirement(("gcc",), ("gcc", "libc6-dev"), "building Nomad from source")


def ensure_packages(requirements: Sequence[Requirement] = SANDBOX) -> list[str]:
    """Installs what is missing and returns the names of the installed packages; PackageError if that cannot be."""
    lacking = missing(requirements)
    if not lacking:
        return []
    wanted = list(dict.fromkeys(name for requirement in lacking for name in requirement.packages))
    reasons = "; ".join(f"{requirement.commands[0]} for {requirement.purpose}" for requirement in lacking)
    if shutil.which("apt-get") is None:
        raise PackageError(f"missing here: {reasons}. There is no apt-get to install them with: install them yourself.")
    command = f"apt-get install --no-install-recommends {' '.join(wanted)}"
    if os.geteuid() != 0:
        raise PackageError(f"missing here: {reasons}. Only root can install them: run `sudo {command}`.")
    print(f"packages: installing {' '.join(wanted)} (missing here: {reasons})", file=sys.stderr, flush=True)
    with one_at_a_time(), _kept_from_starting([unit for requirement in lacking for unit in requirement.services]):
        _install(wanted, command)
    still = missing(lacking)
    if still:
        names = ", ".join(requirement.commands[0] for requirement in still)
        raise PackageError(f"missing here even after `{command}`: {names}. Install them yourself.")
    return wanted


def missing(requirements: Sequence[Requirement] = SANDBOX) -> list[Requirement]:
    """The requirements of which no command is there."""
    return [item for item in requirements if not _is_there(item)]


def _is_there(item: Requirement) -> bool:
    return any(find_command(name) for name in item.commands) and all(Path(file).is_file() for file in item.files)


def find_command(name: str) -> str | None:
    """The path of a command; the system folders count even where the shell's PATH leaves them out."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_SYSTEM_FOLDERS])
    return shutil.which(name, path=path)


def _install(packages: list[str], shown: str) -> None:
    # Package lists may be stale or absent on a fresh machine; if only some mirror fails, the install can still work.
    _apt("update", "-qq")
    # What is installed already, another vendor's docker say, is nobody's to remove.
    result = _apt("install", "-qq", "-y", "--no-install-recommends", "--no-remove", *packages)
    if result.returncode != 0:
        lines = (result.stdout + result.stderr).strip().splitlines()[-_SHOWN_LINES:]
        raise PackageError(f"`{shown}` failed (exit code {result.returncode}); it said:\n  " + "\n  ".join(lines))


@contextmanager
def one_at_a_time(folder: Path = _POLICY.parent) -> Iterator[None]:
    """Waits for other runs that install: apt's own lock holds for one command, and not for the update of its lists."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _kept_from_starting(units: Sequence[str]) -> Iterator[None]:
    """While packages are installed their services are not started, and afterwards they are not started at boot.

    https://people.debian.org/~hmh/invokerc.d-policyrc.d-specification.txt
    """
    ours = bool(units) and (not _POLICY.exists() or _POLICY.read_text(encoding="utf-8") == _NO_STARTS)
    if ours:
        _POLICY.write_text(_NO_STARTS, encoding="utf-8")
        _POLICY.chmod(0o755)
    elif units and any(_may_start(unit) for unit in units):
        raise PackageError(
            f"{_POLICY} lets packages start their services, and {units[0]} must not run on this machine: install "
            "the packages yourself, or move that file away while this runs."
        )
    try:
        yield
    finally:
        if ours:
            _POLICY.unlink(missing_ok=True)
        if units and shutil.which("systemctl"):
            subprocess.run(["systemctl", "disable", *units], capture_output=True, check=False)


def _may_start(unit: str) -> bool:
    return (
        subprocess.run([_POLICY, unit.partition(".")[0], "start"], capture_output=True, check=False).returncode != 101
    )


def _apt(*arguments: str) -> subprocess.CompletedProcess[str]:
    # Another package run may hold the lock for a while, such as the machine's own upgrades.
    command = ["apt-get", "-o", "DPkg::Lock::Timeout=180", *arguments]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def main() -> int:
    """`python -m tools.packages [--tests]`: exit code 0 when every program is there."""
    try:
        ensure_packages((*SANDBOX, *FIREWALL, *TESTS) if sys.argv[1:] == ["--tests"] else SANDBOX)
    except PackageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
