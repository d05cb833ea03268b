"""The machine image that instances boot: the host's own file system, with the few private parts an instance needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sandbox.machine.launcher import launcher
from sandbox.machine.naming import FILE_SERVER_NAMES

IMAGE_ID: Final = "ami-0d5ab0c5ab0c5ab0c"


@dataclass(frozen=True)
class Account:
    """A line of /etc/passwd, and of /etc/group when the account brings its own group."""

    name: str
    uid: int
    gid: int
    home: str
    own_group: bool

    @property
    def passwd_line(self) -> str:
        """The line of /etc/passwd; nobody logs in."""
        return f"{self.name}:x:{self.uid}:{self.gid}::{self.home}:/usr/sbin/nologin"


ACCOUNTS: Final = (
    Account("mysql", 999, 999, "/var/lib/mysql", own_group=True),
    # Nomad's exec driver gives the user NAMED root every capability there is, which fails where the kernel withholds
    # one of them; another name for uid 0 gets the ordinary set.
    Account("dbadmin", 0, 0, "/", own_group=False),
)


def passwd(host_text: str) -> str:
    """The instance's /etc/passwd: the host's without the accounts in the way of ours, then ours."""
    names = {account.name for account in ACCOUNTS}
    uids = {str(account.uid) for account in ACCOUNTS if account.uid != 0}
    return _merge(host_text, names, uids, [account.passwd_line for account in ACCOUNTS])


def group(host_text: str) -> str:
    """The instance's /etc/group, made as /etc/passwd is."""
    ours = [account for account in ACCOUNTS if account.own_group]
    lines = [f"{account.name}:x:{account.gid}:" for account in ours]
    return _merge(host_text, {account.name for account in ours}, {str(account.gid) for account in ours}, lines)


def hosts(address: str, dns_name: str, file_server: str) -> str:
    """The instance's /etc/hosts: itself, and the file server."""
    own = f"{address} {dns_name} {dns_name.partition('.')[0]}"
    return f"127.0.0.1 localhost\n{own}\n{file_server} {' '.join(FILE_SERVER_NAMES)}\n"


def etc_files(address: str, dns_name: str, file_server: str) -> dict[str, str]:
    """Files under /etc that the instance has of its own, by name."""
    return {
        "passwd": passwd(_host_file("/etc/passwd")),
        "group": group(_host_file("/etc/group")),
        "hosts": hosts(address, dns_name, file_server),
        "hostname": f"{dns_name}\n",
    }


def programs(zone: str, efs: Path, nas: Path) -> dict[str, str]:
    """Clients of network storage that the image carries, by name: their real ones may not be on this machine."""
    nfs = launcher("sandbox.standins.nas.mount_nfs", str(nas))
    return {
        "mount.efs": launcher("sandbox.cloud.mount_efs", str(efs), zone),
        "mount.nfs": nfs,
        "mount.nfs4": nfs,
    }


def image(architecture: str) -> dict[str, Any]:
    """The image as moto loads it."""
    return {
        "ami_id": IMAGE_ID,
        "name": "nomad-stateful-sandbox",
        "description": "The file system of the machine that the sandbox runs on",
        "owner_id": "123456789012",
        "public": True,
        "state": "available",
        "architecture": "arm64" if architecture in {"aarch64", "arm64"} else "x86_64",
        "virtualization_type": "hvm",
        "hypervisor": "xen",
        "image_type": "machine",
        "image_location": "123456789012/nomad-stateful-sandbox",
        "platform": None,
        "root_device_name": "/dev/sda1",
        "root_device_type": "ebs",
        "sriov": "simple",
    }


def _merge(host_text: str, names: set[str], ids: set[str], lines: list[str]) -> str:
    kept = []
    for line in host_text.splitlines():
        fields = line.split(":")
        if fields[0] not in names and (len(fields) < 3 or fields[2] not in ids):
            kept.append(line)
    return "\n".join([*kept, *lines]) + "\n"


def _host_file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
