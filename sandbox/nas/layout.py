"""Where the file server keeps what it has."""

from __future__ import annotations

import base64
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.private_files import write_private

NAMES: Final = ("nas", "nas.sandbox.internal")
"""Names under which clients reach it."""

POOL: Final = "tank"
USER: Final = "root"
_HEADER: Final = b"openssh-key-v1\0"


@dataclass(frozen=True)
class Nas:
    """The file server under a folder."""

    folder: Path

    @property
    def root(self) -> Path:
        """Its root directory: datasets are mounted in it by their names."""
        return self.folder / "root"

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

    def prepare(self) -> bool:
        """Makes the server where there is none: a pool, an exported dataset for shares, a key; says whether it did."""
        if self.authorized_keys.is_file():
            return False
        self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        self.snapshots.mkdir(exist_ok=True)
        # Late, for it is slow to load and needed once.
        from sandbox.nas.zfs import Pool  # noqa: PLC0415

        pool = Pool(self)
        for dataset, properties in ((POOL, {}), (f"{POOL}/shares", {"sharenfs": "on"}), (f"{POOL}/csi", {})):
            pool.create(dataset, properties)
        private, public = _new_key()
        write_private(self.key_file, private)
        self.authorized_keys.write_text(public, encoding="ascii")
        return True


def public_part(private_key: str) -> str:
    """The base64 public key inside an OpenSSH private key; raises ValueError."""
    lines = [line for line in private_key.strip().splitlines() if not line.startswith("-----")]
    blob = base64.b64decode("".join(lines), validate=True)
    if not blob.startswith(_HEADER):
        raise ValueError("not an OpenSSH private key")
    rest = blob[len(_HEADER) :]
    for _ in ("cipher", "kdf", "kdf options"):
        (length,) = struct.unpack(">I", rest[:4])
        rest = rest[4 + length :]
    (length,) = struct.unpack(">I", rest[4:8])
    return base64.b64encode(rest[8 : 8 + length]).decode()


def _new_key() -> tuple[str, str]:
    """A private key in OpenSSH's form and its public line."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    ).decode()
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    return private, f"{public} csi@{os.uname().nodename}\n"
