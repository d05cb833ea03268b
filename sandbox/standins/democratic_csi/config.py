"""The driver's configuration file. It holds credentials: no message ever shows a value of sshConnection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

ZFS_DRIVERS: Final = ("zfs-generic-nfs", "freenas-nfs")
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
DRIVERS: Final = (*ZFS_DRIVERS, "nfs-client", "node-manual")


class ConfigError(Exception):
    """The configuration cannot be used; names the file, the key, the rule and the remedy, never a secret."""


@dataclass(frozen=True)
class SshConnection:
    """How the file server is reached."""

    host: str
    port: int
    username: str
    private_key: str = field(repr=False)


@dataclass(frozen=True)
class ZfsOptions:
    """Where volumes are datasets."""

    parent: str
    properties: Mapping[str, str]
    quotas: bool
    mode: str
    """Of a new volume's folder; empty leaves it as the server made it."""
    owner: str
    sudo: bool
    paths: Mapping[str, str]
    """Of the programs on the server, by name."""


@dataclass(frozen=True)
class Config:
    """A valid configuration."""

    driver: str
    instance_id: str
    share_host: str
    share_strategy: str
    share_properties: Mapping[str, str] | None
    """What a volume's dataset gets set to be shared; none where the section is missing, which ends each creation."""
    share_base: str
    controller_base: str
    dir_mode: int | None
    ssh: SshConnection | None
    zfs: ZfsOptions | None


def load(path: str) -> Config:
    """Reads a file; raises ConfigError."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"--driver-config-file is {path}: it cannot be read ({reason})") from None
    try:
        found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        # The parser's own text quotes the lines, which may be a key's.
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(
            f"{path}{where}: this is not YAML: {getattr(error, 'problem', None) or 'unreadable'}"
        ) from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path} holds no mapping: write at least `driver: zfs-generic-nfs` and its settings")
    return _Reader(path, found).config()


class _Reader:
    def __init__(self, path: str, values: Mapping[str, Any]) -> None:
        self._path = path
        self._values = values

    def config(self) -> Config:
        driver = self._text("driver")
        if driver not in DRIVERS:
            raise ConfigError(f"{self._path}: driver is {driver!r}: use {', '.join(DRIVERS)}")
        is_zfs, is_client = driver in ZFS_DRIVERS, driver == "nfs-client"
        return Config(
            driver=driver,
            instance_id=self._text("instance_id", ""),
            share_host="" if driver == "node-manual" else self._text("nfs.shareHost"),
            share_strategy=self._text("nfs.shareStrategy", ""),
            share_properties=self._share_properties(),
            share_base=self._folder("nfs.shareBasePath") if is_client else "",
            controller_base=self._folder("nfs.controllerBasePath") if is_client else "",
            dir_mode=self._dir_mode(),
            ssh=self._ssh() if is_zfs else None,
            zfs=self._zfs() if is_zfs else None,
        )

    def _share_properties(self) -> Mapping[str, str] | None:
        found = self._get("nfs.shareStrategySetDatasetProperties.properties", None)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise ConfigError(f"{self._path}: nfs.shareStrategySetDatasetProperties.properties is no mapping")
        return {str(key): _plain(value) for key, value in found.items()}

    def _dir_mode(self) -> int | None:
        mode = self._text("nfs.dirPermissionsMode", "")
        if not mode:
            return None
        try:
            return int(mode, 8)
        except ValueError:
            raise self._wrong("nfs.dirPermissionsMode", mode, "it is no octal mode", 'Write it as "0777"') from None

    def _ssh(self) -> SshConnection:
        port = self._get("sshConnection.port", 22)
        if isinstance(port, bool) or not str(port).isdecimal() or not 0 < int(port) < 65536:
            raise self._wrong("sshConnection.port", port, "it is no port", "Write 22, or leave it out")
        if self._get("sshConnection.password", None) is not None and not self._get("sshConnection.privateKey", None):
            raise ConfigError(
                f"{self._path}: sshConnection.password is set: only keys are supported here. "
                "Use sshConnection.privateKey"
            )
        key = self._get("sshConnection.privateKey", None)
        if not isinstance(key, str) or not _PRIVATE_KEY.search(key):
            raise ConfigError(
                f"{self._path}: sshConnection.privateKey is {'missing' if key is None else 'no private key'}: "
                "write it as a block (`privateKey: |`) with its BEGIN and END lines, indented"
            )
        return SshConnection(
            self._text("sshConnection.host"),
            int(port),
            self._text("sshConnection.username", "root"),
            key.strip() + "\n",
        )

    def _zfs(self) -> ZfsOptions:
        parent = self._text("zfs.datasetParentName").strip("/")
        detached = self._text("zfs.detachedSnapshotsDatasetParentName").strip("/")
        if f"{detached}/".startswith(f"{parent}/") or f"{parent}/".startswith(f"{detached}/"):
            raise self._wrong(
                "zfs.detachedSnapshotsDatasetParentName",
                detached,
                f"it and zfs.datasetParentName ({parent}) must not overlap",
                "Use a dataset beside it",
            )
        properties = self._get("zfs.datasetProperties", None) or {}
        if not isinstance(properties, dict):
            raise ConfigError(f"{self._path}: zfs.datasetProperties is no mapping of property names to values")
        owner = [str(self._get(f"zfs.datasetPermissions{who}", "")) for who in ("User", "Group")]
        return ZfsOptions(
            parent=parent,
            properties={str(key): _plain(value) for key, value in properties.items()},
            quotas=bool(self._get("zfs.datasetEnableQuotas", False)),
            mode=str(self._get("zfs.datasetPermissionsMode", "")),
            owner=":".join(owner) if any(owner) else "",
            sudo=bool(self._get("zfs.cli.sudoEnabled", False)),
            paths={name: str(path) for name, path in (self._get("zfs.cli.paths", None) or {}).items()},
        )

    def _folder(self, key: str) -> str:
        path = self._text(key)
        if not path.startswith("/"):
            raise self._wrong(key, path, "it is no absolute path", "Begin it with /")
        return path.rstrip("/")

    def _text(self, key: str, default: str | None = None) -> str:
        value = self._get(key, default)
        if value is None:
            raise ConfigError(f"{self._path}: {key} is missing: driver {self._get('driver', '')} needs it")
        if not isinstance(value, str | int) or isinstance(value, bool) or (value == "" and default is None):
            raise ConfigError(f"{self._path}: {key} is no text: write it as `{key.rpartition('.')[2]}: VALUE`")
        return str(value)

    def _get(self, key: str, default: Any) -> Any:
        found: Any = self._values
        for part in key.split("."):
            if not isinstance(found, dict) or found.get(part) is None:
                return default
            found = found[part]
        return found

    def _wrong(self, key: str, value: object, rule: str, remedy: str) -> ConfigError:
        return ConfigError(f"{self._path}: {key} is {value!r}: {rule}. {remedy}")


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
