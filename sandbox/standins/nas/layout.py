"""Where the file server keeps what it has."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.machine.private_files import write_private

POOL: Final = "tank"
USER: Final = "root"
MOUNT_ROOT: Final = "/mnt"
"""Where the server mounts its datasets, as TrueNAS does."""


@dataclass(frozen=True)
class Nas:
    """The file server under a folder."""

    folder: Path

    @property
    def root(self) -> Path:
        """What the server sees at MOUNT_ROOT: datasets are mounted in it by their names."""
        return self.folder / "root"

    def mount_point(self, dataset: str) -> str:
        """Where the server has a dataset, which is also how clients name it."""
        return f"{MOUNT_ROOT}/{dataset}"

    @property
    def snapshots(self) -> Path:
        """Contents of the snapshots."""
        return self.folder / "snapshots"

    @property
    def datasets_file(self) -> Path:
        """Datasets, snapshots and their properties."""
        return self.folder / "zfs.json"

    @property
    def key_file(self) -> Path:
        """The private key that may log in."""
        return self.folder / "id_ed25519"

    @property
    def authorized_keys(self) -> Path:
        """The public keys that may log in."""
        return self.folder / "authorized_keys"

    @property
    def host_key(self) -> Path:
        """The key by which clients can know the server."""
        return self.folder / "ssh_host_ed25519_key"

    @property
    def mount_socket(self) -> Path:
        """Where the server takes requests to mount: the kernel may have no NFS. Containers see this folder alone."""
        return self.folder / "clients" / "mount.sock"

    @property
    def own_files(self) -> Path:
        """What the server has of its own over the machine's files: programs and accounts."""
        return self.folder / "own"

    def prepare(self) -> bool:
        """Makes the server where there is none: a pool, an exported dataset for shares, a key; says whether it did."""
        if self.host_key.is_file():
            return False
        self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        self.snapshots.mkdir(exist_ok=True)
        # Late, for it is slow to load and needed once.
        from sandbox.standins.nas.pool import Pool

        pool = Pool(self)
        for dataset, properties in ((POOL, {}), (f"{POOL}/shares", {"sharenfs": "on"}), (f"{POOL}/csi", {})):
            pool.create(dataset, properties)
        private, public = _new_key()
        write_private(self.key_file, private)
        self.authorized_keys.write_text(public, encoding="ascii")
        write_private(self.host_key, _new_key()[0])
        return True


def _new_key() -> tuple[str, str]:
    """A private key in OpenSSH's form and its public line."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    ).decode()
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    return private, f"{public} csi@{os.uname().nodename}\n"
