"""The file server: `python -m sandbox.standins.nas.server FOLDER OPENSSH ADDRESS`, in namespaces of its own.

It shows the machine's files read-only, the datasets at /mnt, its own accounts and `zfs`; it runs sshd on port 22 and
gives shares to clients. It writes `ready`, waits for a line, writes `listening`, and ends with its input.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

from sandbox.machine.waiting import until
from sandbox.settings import CODE
from sandbox.standins.nas.exports import Exports
from sandbox.standins.nas.layout import MOUNT_ROOT, USER, Nas

PORT: Final = 22
_LISTEN_TIMEOUT_S: Final = 20.0
_RUN: Final = Path("/run")
_ACCOUNTS: Final = {
    "passwd": f"{USER}:x:0:0::/root:/bin/sh\nsshd:x:105:65534::/run/sshd:/usr/sbin/nologin\n"
    "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\nwheel:x:0:\nnogroup:x:65534:\n",
    "shadow": f"{USER}:*:19000:0:99999:7:::\nsshd:!:19000::::::\n",
}


def main(folder: str, openssh: str, address: str) -> int:
    """Serves until the input ends; the exit status."""
    nas = Nas(Path(folder))
    prepare(nas, Path(openssh) if openssh else None)
    _say("ready")
    sys.stdin.readline()
    Exports(nas, _RUN / "shares").serve()
    daemon = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", str(_configure(nas, address))])
    until(lambda: _listens(address) or daemon.poll() is not None, _LISTEN_TIMEOUT_S, pause_s=0.01)
    if daemon.poll() is not None or not _listens(address):
        print("sshd does not listen", file=sys.stderr)
        return 1
    _say("listening")
    # What starts the server holds the other end: a server that nobody can stop any more stops by itself.
    sys.stdin.read()
    daemon.terminate()
    return 0


def prepare(nas: Nas, openssh: Path | None) -> None:
    """Gives this mount namespace the server's own files."""
    own = nas.own_files
    (own / "usr" / "sbin").mkdir(parents=True, exist_ok=True)
    (own / "etc").mkdir(exist_ok=True)
    program = own / "usr" / "sbin" / "zfs"
    words = [
        "exec",
        "env",
        f"PYTHONPATH={CODE}",
        sys.executable,
        "-S",
        "-m",
        "sandbox.standins.nas.zfs",
        str(nas.folder),
    ]
    program.write_text(f'#!/bin/sh\n{shlex.join(words)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    layers = [str(own / "usr"), *([str(openssh / "usr")] if openssh else []), "/usr"]
    # The server's own folder stays writable when the machine's files are not.
    _mount("--bind", str(nas.folder), str(nas.folder))
    _mount("-t", "overlay", "nas-usr", "-o", f"lowerdir={':'.join(layers)}", "/usr")
    _mount("--bind", str(nas.root), MOUNT_ROOT)
    _mount("-t", "tmpfs", "-o", "mode=0755,nosuid,nodev", "nas-run", str(_RUN))
    (_RUN / "sshd").mkdir(mode=0o755)
    for name, text in _ACCOUNTS.items():
        file = own / "etc" / name
        file.write_text(text, encoding="ascii")
        file.chmod(0o600 if name == "shadow" else 0o644)
        if Path("/etc", name).exists():
            _mount("--bind", str(file), f"/etc/{name}")
    _mount("-o", "remount,bind,ro", "/")


def _configure(nas: Nas, address: str) -> Path:
    """sshd's configuration: keys only, commands only."""
    file = _RUN / "sshd_config"
    lines = [
        f"ListenAddress {address}",
        f"Port {PORT}",
        f"HostKey {nas.host_key}",
        f"AuthorizedKeysFile {nas.authorized_keys}",
        # The folders above the sandbox's home may belong to whoever cloned the project.
        "StrictModes no",
        f"AllowUsers {USER}",
        "PermitRootLogin prohibit-password",
        "PubkeyAuthentication yes",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "UsePAM no",
        "UseDNS no",
        "PermitTTY no",
        "PermitUserRC no",
        "DisableForwarding yes",
        "PrintMotd no",
        "PidFile none",
        # A driver may ask a dozen things at once over one connection.
        "MaxSessions 64",
        "MaxStartups 64",
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def _listens(address: str) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((address, PORT)) == 0


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def _say(word: str) -> None:
    os.write(1, f"{word}\n".encode())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
