"""Volumes as ZFS datasets of a file server, shared by NFS; snapshots as ZFS snapshots."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sandbox.csi.errors import failed_precondition, invalid
from sandbox.csi.volume_store import Snapshot, Source, Volume

from .config import Config, Zfs
from .ssh import Ssh

_PREFIX: Final = "democratic-csi:"
_NAME: Final = f"{_PREFIX}csi_volume_name"
_SIZE: Final = f"{_PREFIX}csi_size_bytes"
_SOURCE_KIND: Final = f"{_PREFIX}csi_volume_content_source_type"
_SOURCE_ID: Final = f"{_PREFIX}csi_volume_content_source_id"
_SNAPSHOT_NAME: Final = f"{_PREFIX}csi_snapshot_name"
_SUCCESS: Final = f"{_PREFIX}provision_success"
_MANAGED: Final = f"{_PREFIX}managed_resource"
_ALLOWED: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")


class ZfsStore:
    """Datasets under one parent. What makes a dataset a volume of ours are its properties."""

    def __init__(self, ssh: Ssh, config: Config, zfs: Zfs) -> None:
        self._ssh = ssh
        self._config = config
        self._zfs = zfs

    def volumes(self) -> list[Volume]:
        """All datasets that were provisioned to the end."""
        lines = self._list("filesystem", ("name", _NAME, _SIZE, _SOURCE_KIND, _SOURCE_ID, _SUCCESS))
        return [
            Volume(name.rpartition("/")[2], csi_name, int(size), _source(kind, source_id))
            for name, csi_name, size, kind, source_id, success in lines
            if success == "true"
        ]

    def snapshots(self) -> list[Snapshot]:
        """All snapshots that were asked for."""
        lines = self._list("snapshot", ("name", _SNAPSHOT_NAME, _SIZE, "creation"))
        return [
            Snapshot(short, csi_name, short.partition("@")[0], int(size), float(creation))
            for name, csi_name, size, creation in lines
            if csi_name != "-" and (short := name.rpartition("/")[2])
        ]

    def create(self, name: str, capacity_bytes: int, source: Source | None) -> Volume:
        """Makes a dataset, exports it, and marks it as done last."""
        if not _ALLOWED.fullmatch(name):
            raise invalid(f"name {name!r} cannot be a dataset's: use letters, digits and _ . : -")
        dataset = self._dataset(name)
        # A dataset without the mark is what a controller left that died half way.
        if any(line[0] == dataset for line in self._list("filesystem", ("name",))):
            self._run("destroy", "-r", dataset)
        properties = {**self._zfs.properties, _NAME: name, _SIZE: str(capacity_bytes), _MANAGED: "true"}
        if self._zfs.quotas:
            properties["refquota"] = str(capacity_bytes)
        if source is not None:
            properties |= {_SOURCE_KIND: source.kind, _SOURCE_ID: source.id}
        options = [part for key, value in properties.items() for part in ("-o", f"{key}={value}")]
        self._fill(dataset, options, source)
        self._permit(dataset)
        self._run("set", f"sharenfs={self._config.share_nfs}", dataset)
        self._run("set", f"{_SUCCESS}=true", dataset)
        return Volume(name, name, capacity_bytes, source)

    def _fill(self, dataset: str, options: Sequence[str], source: Source | None) -> None:
        if source is None:
            self._run("create", "-p", *options, dataset)
        elif source.kind == "snapshot":
            self._run("clone", "-p", *options, self._dataset(source.id), dataset)
        else:
            passing = f"{self._dataset(source.id)}@for-{dataset.rpartition('/')[2]}"
            self._run("snapshot", passing)
            self._run("clone", "-p", *options, passing, dataset)
            self._run("destroy", passing)

    def _permit(self, dataset: str) -> None:
        self._ssh.run([*self._sudo, "chmod", self._zfs.mode, f"/{dataset}"])
        if self._zfs.owner:
            self._ssh.run([*self._sudo, "chown", self._zfs.owner, f"/{dataset}"])

    def delete(self, volume: Volume) -> None:
        """Destroys the dataset, unless snapshots of it are kept."""
        if any(one.volume_id == volume.volume_id for one in self.snapshots()):
            raise failed_precondition(
                f"volume {volume.volume_id!r}: filesystem has dependent snapshots: delete them first"
            )
        self._run("destroy", "-r", self._dataset(volume.volume_id))

    def resize(self, volume: Volume, capacity_bytes: int) -> None:
        """Sets refquota where quotas are on, and the size we tell."""
        dataset = self._dataset(volume.volume_id)
        if self._zfs.quotas:
            self._run("set", f"refquota={capacity_bytes}", dataset)
        self._run("set", f"{_SIZE}={capacity_bytes}", dataset)

    def create_snapshot(self, name: str, volume: Volume) -> Snapshot:
        """Takes a snapshot of the dataset."""
        if not _ALLOWED.fullmatch(name):
            raise invalid(f"name {name!r} cannot be a snapshot's: use letters, digits and _ . : -")
        snapshot_id = f"{volume.volume_id}@{name}"
        size = ("-o", f"{_SIZE}={volume.capacity_bytes}")
        self._run("snapshot", "-o", f"{_SNAPSHOT_NAME}={name}", *size, self._dataset(snapshot_id))
        return next(one for one in self.snapshots() if one.snapshot_id == snapshot_id)

    def delete_snapshot(self, snapshot: Snapshot) -> None:
        """Destroys the snapshot."""
        self._run("destroy", self._dataset(snapshot.snapshot_id))

    def available_bytes(self) -> int:
        """Room in the parent dataset."""
        ((available, *_), *_) = self._list("filesystem", ("available",))
        return int(available)

    @property
    def _sudo(self) -> list[str]:
        return ["sudo"] if self._zfs.sudo else []

    def _dataset(self, volume_id: str) -> str:
        return f"{self._zfs.parent}/{volume_id}"

    def _list(self, kind: str, columns: Sequence[str]) -> list[list[str]]:
        output = self._run("list", "-H", "-p", "-r", "-t", kind, "-o", ",".join(columns), self._zfs.parent)
        return [line.split("\t") for line in output.splitlines() if line]

    def _run(self, *words: str) -> str:
        return self._ssh.run([*self._sudo, "zfs", *words])


def _source(kind: str, source_id: str) -> Source | None:
    if kind == "snapshot":
        return Source("snapshot", source_id)
    return Source("volume", source_id) if kind == "volume" else None
