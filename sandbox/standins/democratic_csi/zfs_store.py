"""Volumes as ZFS datasets of a file server, shared by NFS; snapshots as ZFS snapshots."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from sandbox.standins.csi.commands import CommandError
from sandbox.standins.csi.errors import CsiError, failed_precondition, internal, invalid, not_found
from sandbox.standins.csi.volume_store import Snapshot, Source, Volume
from sandbox.standins.democratic_csi.config import Config, ZfsOptions
from sandbox.standins.democratic_csi.ssh import Ssh
from sandbox.standins.democratic_csi.zfs import NOT_THERE, Zfs

_PREFIX: Final = "democratic-csi:"
_NAME: Final = f"{_PREFIX}csi_volume_name"
_CONTEXT: Final = f"{_PREFIX}csi_share_volume_context"
_SOURCE_KIND: Final = f"{_PREFIX}csi_volume_content_source_type"
_SOURCE_ID: Final = f"{_PREFIX}csi_volume_content_source_id"
_SNAPSHOT_NAME: Final = f"{_PREFIX}csi_snapshot_name"
_SNAPSHOT_OF: Final = f"{_PREFIX}csi_snapshot_source_volume_id"
_DRIVER: Final = f"{_PREFIX}volume_context_provisioner_driver"
_INSTANCE: Final = f"{_PREFIX}volume_context_provisioner_instance_id"
_SUCCESS: Final = f"{_PREFIX}provision_success"
_MANAGED: Final = f"{_PREFIX}managed_resource"
_FOR_CLONE: Final = "volume-source-for-volume-"
_ALLOWED: Final = re.compile(r"[A-Za-z0-9_\-:.+]+")
_SHARE_KEYS: Final = ("share", "sharenfs")


class ZfsStore:
    """Datasets under one parent. What makes a dataset a volume of ours are its properties."""

    def __init__(self, ssh: Ssh, config: Config, options: ZfsOptions) -> None:
        self._ssh = ssh
        self._zfs = Zfs(ssh, options.paths, sudo=options.sudo)
        self._config = config
        self._options = options

    def ready(self) -> None:
        """What a probe asks: a way to the server, and a shell there that can be worked with."""
        try:
            shell = self._ssh.run("echo $0").output.partition("\n")[0]
        except CommandError as error:
            raise internal(str(error)) from None
        if "csh" in shell:
            raise failed_precondition("csh is an unsupported shell, please update the default shell of your exec user")

    def volumes(self) -> list[Volume]:
        """All datasets that are shared volumes of ours."""
        columns = ("name", "refquota", _NAME, _MANAGED, _CONTEXT, _SOURCE_KIND, _SOURCE_ID)
        return [
            Volume(
                row["name"].removeprefix(f"{self._options.parent}/"),
                row[_NAME],
                int(row["refquota"]),
                _source(row[_SOURCE_KIND], row[_SOURCE_ID]),
            )
            for row in self._list("filesystem", columns)
            if row[_MANAGED] == "true" and row[_CONTEXT] != "-" and row["name"] != self._options.parent
        ]

    def snapshots(self) -> list[Snapshot]:
        """All snapshots that were asked for."""
        columns = ("name", "creation", "referenced", "logicalreferenced", _SNAPSHOT_NAME, _MANAGED)
        return [
            Snapshot(
                short := row["name"].removeprefix(f"{self._options.parent}/"),
                row[_SNAPSHOT_NAME],
                short.partition("@")[0],
                max(int(row["referenced"]), int(row["logicalreferenced"])),
                float(row["creation"]),
            )
            for row in self._list("snapshot", columns)
            if row[_MANAGED] == "true" and row[_SNAPSHOT_NAME] != "-"
        ]

    def create(self, name: str, capacity_bytes: int, source: Source | None) -> Volume:
        """Makes a dataset, exports it, and marks it as done last."""
        if not _ALLOWED.fullmatch(name):
            raise invalid(f"name {name!r} cannot be a dataset's: use letters, digits and _ . : - +")
        dataset = self._dataset(name)
        properties = {**self._options.properties, _NAME: name, _MANAGED: "true", _DRIVER: self._config.driver}
        properties |= {_INSTANCE: self._config.instance_id} if self._config.instance_id else {}
        self._fill(dataset, properties, source)
        if self._options.quotas:
            self._zfs.set(dataset, {"refquota": str(capacity_bytes)})
        mount_point = self._zfs.get(dataset, ("mountpoint", "refquota", "compression", _NAME))["mountpoint"]
        self._permit(mount_point)
        self._share(dataset)
        context = {"node_attach_driver": "nfs", "server": self._config.share_host, "share": mount_point}
        self._zfs.set(dataset, {_CONTEXT: json.dumps(context, separators=(",", ":"))})
        self._zfs.set(dataset, {_SUCCESS: "true"})
        return Volume(name, name, capacity_bytes, source)

    def context(self, volume: Volume) -> dict[str, str]:
        """How a node mounts a volume, as it was kept with it."""
        found = self._zfs.get(self._dataset(volume.volume_id), (_CONTEXT,))
        return dict(json.loads(found[_CONTEXT]))

    def _fill(self, dataset: str, properties: Mapping[str, str], source: Source | None) -> None:
        if source is None:
            self._zfs.create(dataset, properties)
            return
        marked = {**properties, _SOURCE_KIND: source.kind, _SOURCE_ID: source.id}
        origin = self._dataset(source.id)
        if source.kind == "volume":
            origin += f"@{_FOR_CLONE}{dataset.rpartition('/')[2]}"
            self._zfs.snapshot(origin, {})
        try:
            self._zfs.clone(origin, dataset, marked)
        except CommandError as error:
            raise not_found("dataset does not exists") if NOT_THERE in str(error) else error from None

    def _permit(self, mount_point: str) -> None:
        for command, what in ((self._options.mode, "chmod"), (self._options.owner, "chown")):
            if command:
                self._as_root(f"{what} {command} {mount_point}")

    def _as_root(self, command: str) -> None:
        if self._ssh.run("whoami").output.strip() != "root":
            command = f"{self._options.paths.get('sudo', '/usr/bin/sudo')} {command}"
        done = self._ssh.run(command)
        if done.code != 0:
            raise CommandError(f"error setting permissions on dataset: {done.output.strip()}")

    def _share(self, dataset: str) -> None:
        for key in _SHARE_KEYS:
            if value := self._share_properties().get(key):
                self._zfs.set(dataset, {key: value})

    def _share_properties(self) -> Mapping[str, str]:
        if self._config.share_strategy != "setDatasetProperties":
            return {}
        if self._config.share_properties is None:
            raise internal(
                "TypeError: Cannot read properties of undefined (reading 'properties'): the configuration lacks "
                "nfs.shareStrategySetDatasetProperties"
            )
        return self._config.share_properties

    def delete(self, volume: Volume) -> None:
        """Destroys the dataset, unless snapshots of it are kept."""
        dataset = self._dataset(volume.volume_id)
        origin = self._zfs.get(dataset, ("mountpoint", "origin", "refquota", "compression", _NAME))["origin"]
        self._unshare(dataset)
        if origin.partition("@")[2].startswith(_FOR_CLONE):
            self._zfs.destroy(origin, deferred=True)
        if any(one.volume_id == volume.volume_id for one in self.snapshots()):
            raise failed_precondition("filesystem has dependent snapshots")
        try:
            self._zfs.destroy(dataset)
        except CommandError as error:
            raise _precondition(error, "filesystem has dependent clones") from None

    def _unshare(self, dataset: str) -> None:
        if self._config.share_strategy != "setDatasetProperties":
            raise failed_precondition(f"invalid configuration: unknown shareStrategy {self._config.share_strategy}")
        for key in _SHARE_KEYS:
            if self._share_properties().get(key):
                self._zfs.inherit(dataset, key)

    def resize(self, volume: Volume, capacity_bytes: int) -> None:
        """Sets refquota where quotas are on."""
        if self._options.quotas:
            self._zfs.set(self._dataset(volume.volume_id), {"refquota": str(capacity_bytes)})

    def create_snapshot(self, name: str, volume: Volume) -> Snapshot:
        """Takes a snapshot of the dataset."""
        if not _ALLOWED.fullmatch(name):
            raise invalid(f"snapshot name contains invalid characters: {_ALLOWED.sub('', name)}")
        snapshot_id = f"{volume.volume_id}@{name}"
        properties = {_SNAPSHOT_NAME: name, _SNAPSHOT_OF: volume.volume_id, _MANAGED: "true"}
        self._zfs.snapshot(self._dataset(snapshot_id), properties)
        self._zfs.set(self._dataset(snapshot_id), {_SUCCESS: "true"})
        return next(one for one in self.snapshots() if one.snapshot_id == snapshot_id)

    def delete_snapshot(self, snapshot: Snapshot) -> None:
        """Destroys the snapshot, or has it go with the last volume that was made of it."""
        try:
            self._zfs.destroy(self._dataset(snapshot.snapshot_id), deferred=True)
        except CommandError as error:
            raise _precondition(error, "snapshot has dependent clones") from None

    def available_bytes(self) -> int:
        """Room in the parent dataset, which is made where it is not there."""
        self._zfs.create(self._options.parent, {})
        return int(self._zfs.get(self._options.parent, ("avail",))["available"])

    def _dataset(self, volume_id: str) -> str:
        return f"{self._options.parent}/{volume_id}"

    def _list(self, kind: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
        try:
            return self._zfs.list(self._options.parent, kind, columns)
        except CommandError as error:
            if NOT_THERE in str(error):
                return []
            raise


def _precondition(error: CommandError, words: str) -> CsiError | CommandError:
    return failed_precondition(words) if words in str(error) else error


def _source(kind: str, source_id: str) -> Source | None:
    if kind == "snapshot":
        return Source("snapshot", source_id)
    return Source("volume", source_id) if kind == "volume" else None
