"""`ssh` of an instance: `python -m sandbox.nas.ssh FOLDER [options] [user@]host COMMAND…`, to the file server only.

It takes OpenSSH's options, wants a key that the server knows, and runs `zfs`, `chmod`, `chown` and `true` there.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

from sandbox.nas.layout import NAMES, Nas, public_part
from sandbox.nas.zfs import Pool, ZfsError, run

EXIT_SSH: Final = 255
"""What ssh returns for an error of its own."""

_WITH_VALUE: Final = frozenset("bcDEeFIiJLlmOopQRSWw")


class SshError(Exception):
    """No connection; its text is what ssh prints."""


def main(arguments: list[str]) -> int:
    """Run the command there; its exit status."""
    nas = Nas(Path(arguments[0]))
    try:
        words = _log_in(nas, arguments[1:])
    except SshError as error:
        print(error, file=sys.stderr)
        return EXIT_SSH
    if words[:1] == ["sudo"]:
        words = words[1:]
    try:
        return _do(nas, words)
    except (ZfsError, IndexError) as error:
        print(error, file=sys.stderr)
        return 1


def _log_in(nas: Nas, rest: list[str]) -> list[str]:
    """The command, once the host is known and the key accepted."""
    key_file, port, user = "", "22", ""
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if len(word) == 2 and word[1] in _WITH_VALUE and rest:
            value = rest.pop(0)
            key_file = value if word == "-i" else key_file
            port = value if word == "-p" else port
            user = value if word == "-l" else user
    if not rest:
        raise SshError("usage: ssh [options] destination command")
    named, _, host = rest.pop(0).rpartition("@")
    if host not in NAMES:
        raise SshError(f"ssh: Could not resolve hostname {host}: Name or service not known")
    if port != "22":
        raise SshError(f"ssh: connect to host {host} port {port}: Connection refused")
    known = {line.split()[1] for line in nas.authorized_keys.read_text(encoding="ascii").splitlines() if line.strip()}
    try:
        accepted = public_part(Path(key_file).read_text(encoding="ascii")) in known
    except (OSError, ValueError):
        accepted = False
    if not accepted or (named or user) != "root":
        raise SshError(f"{named or user}@{host}: Permission denied (publickey).")
    return shlex.split(" ".join(rest))


def _do(nas: Nas, words: list[str]) -> int:
    program = os.path.basename(words[0]) if words else "true"  # noqa: PTH119 - a word, not a path of this machine
    if program == "true":
        return 0
    if program == "zfs":
        sys.stdout.write(run(Pool(nas), words[1:]))
        return 0
    if program in {"chmod", "chown"} and len(words) >= 3:
        inside = str(nas.root) + os.path.normpath("/" + words[-1].lstrip("/"))
        return subprocess.run([program, *words[1:-1], inside], check=False).returncode
    print(f"sh: {program}: command not found", file=sys.stderr)
    return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
