"""Where on the disk the secrets of a sandbox are: found by their values, not by the names of files."""

import json
import mmap
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from tools.trial.running import Running


def secrets_of(stack: Running) -> dict[str, bytes]:
    """Every secret that a sandbox with the stack deployed has, by what it is."""
    home = stack.project / ".sandbox"
    tokens = {f"{path.stem} token": path.read_bytes().strip() for path in (home / "nomad").glob("*.token")}
    keys = {path.name: _body(path.read_bytes()) for path in (home / "nomad/tls").glob("*-key.pem")}
    known = {
        **tokens,
        **keys,
        "AWS secret access key": json.loads((home / "aws-credentials.json").read_text())["secret_access_key"].encode(),
        "key of Nomad's gossip": (home / "nomad/gossip.key").read_bytes().strip(),
        "passphrase of the state": (home / "pulumi-passphrase").read_bytes().strip(),
        "MySQL password": stack.outputs()["mysqlPassword"].encode(),
        "key to the file server": _body((home / "nas/id_ed25519").read_bytes()),
        "file server's own key": _body((home / "nas/ssh_host_ed25519_key").read_bytes()),
    }
    assert all(len(value) >= 16 for value in known.values()), {name: len(value) for name, value in known.items()}
    return known


def _body(pem: bytes) -> bytes:
    """A line out of the middle of the key: what frames it, and the first line of OpenSSH's, every key has."""
    lines = pem.splitlines()[1:-1]
    return lines[len(lines) // 2]


def holders(home: Path, secrets: dict[str, bytes]) -> Iterator[tuple[Path, set[str]]]:
    """Each file below a folder that has a secret in it, and which ones it has."""
    names = {value: name for name, value in secrets.items()}
    pattern = re.compile(b"|".join(re.escape(value) for value in names))
    for path in home.rglob("*"):
        if path.is_symlink() or not path.is_file() or not path.stat().st_size:
            continue
        found = {names[match] for part in _written_parts(path) for match in pattern.findall(part)}
        if found:
            yield path, found


def _written_parts(path: Path) -> Iterator[mmap.mmap | bytes]:
    """The parts of a file that were ever written: a volume's image is mostly hole."""
    with path.open("rb") as file:
        end, size = 0, os.fstat(file.fileno()).st_size
        while end < size:
            try:
                start = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError:
                return
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            yield os.pread(file.fileno(), end - start, start)


def open_to_others(path: Path, home: Path) -> str:
    """What others than the owner could do with a file by its own mode or those of the folders above; empty: nothing."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return f"{path.relative_to(home)} has mode {mode:04o}"
    folders = [home / folder for folder in path.relative_to(home).parents]
    if all(folder.stat().st_mode & 0o077 for folder in folders):
        return f"no folder above {path.relative_to(home)} has mode 0700"
    return ""
