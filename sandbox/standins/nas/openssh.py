"""OpenSSH's server: the machine's own program, else Debian's package unpacked beside it.

The package is not installed: that would make and start a service of the machine, which others could reach.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tools.packages import PackageError, find_command, one_at_a_time
from tools.toolchain import cache

PACKAGES: Final = ("openssh-server", "libwrap0")
"""The server, and what it needs that a machine without it may lack."""

_REMEDY: Final = "Install openssh-server yourself; its service need not run"


def ensure() -> Path | None:
    """A folder whose `usr` holds the server, None where the machine has it; raises PackageError."""
    if find_command("sshd"):
        return None
    root = cache.cache_root() / "packages"
    with cache.locked(root):
        return cache.publish(root / PACKAGES[0], _unpack)


def _unpack(folder: Path) -> None:
    if shutil.which("apt-get") is None:
        raise PackageError(f"sshd is missing here: the sandbox's file server needs it. {_REMEDY}.")
    archives = folder / "archives"
    archives.mkdir()
    with one_at_a_time():
        _run(["apt-get", "update", "-qq"], archives, check=False)
    _run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", *PACKAGES], archives)
    for archive in archives.glob("*.deb"):
        _run(["dpkg-deb", "-x", str(archive), str(folder)], archives)
    shutil.rmtree(archives)
    # Packages older than the merge of /lib into /usr/lib.
    if (folder / "lib").is_dir():
        shutil.copytree(folder / "lib", folder / "usr" / "lib", dirs_exist_ok=True, symlinks=True)


def _run(words: list[str], folder: Path, *, check: bool = True) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise PackageError(
            f"sshd is missing here and `{' '.join(words)}` failed: {done.stderr.strip()[-500:]}. {_REMEDY}."
        )
