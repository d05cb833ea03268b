"""Puts the driver together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.csi import capabilities, mounter, mounts
from sandbox.csi.commands import CommandError
from sandbox.csi.folder_store import FolderStore
from sandbox.csi.folders import on_client
from sandbox.csi.identity import Identity
from sandbox.csi.volume_controller import VolumeController
from sandbox.csi.volume_store import Store, Volume

from .config import Config, ConfigError
from .node import FS_TYPES, NfsNode
from .options import VERSION, Options
from .ssh import Ssh
from .zfs_store import ZfsStore


class NfsTraits:
    """Volumes that every client may mount."""

    node_expansion = False

    def __init__(self, options: Options, config: Config) -> None:
        self._config = config
        names = ["CREATE_DELETE_VOLUME", "LIST_VOLUMES", "GET_CAPACITY", "CREATE_DELETE_SNAPSHOT", "LIST_SNAPSHOTS"]
        names += ["CLONE_VOLUME", "EXPAND_VOLUME"]
        names += ["SINGLE_NODE_MULTI_WRITER"] if options.knows_multi_writer else []
        self.capabilities: Sequence[str] = names

    def refusal(self, capability: Any) -> str:
        """Every access mode is fine, NFS is the only file system."""
        return capabilities.refusal(capability, capabilities.EVERY_MODE, FS_TYPES)

    def check_parameters(self, parameters: Mapping[str, str]) -> None:
        """Any: upstream ignores what it does not know."""
        del parameters

    def context(self, volume: Volume) -> dict[str, str]:
        """What a node needs to mount it."""
        config = self._config
        parent = f"/{config.zfs.parent}" if config.zfs else f"{config.share_base}/v"
        found = {
            "node_attach_driver": "nfs",
            "provisioner_driver": config.driver,
            "server": config.share_host,
            "share": f"{parent}/{volume.volume_id}",
        }
        return found | ({"provisioner_driver_instance_id": config.instance_id} if config.instance_id else {})

    def topology(self) -> dict[str, str]:
        """None."""
        return {}


def services(options: Options, config: Config) -> tuple[dict[str, object], Callable[[], None]]:
    """The services of the modes, and what to do at the end; raises ConfigError, OSError."""
    has_controller = config.driver != "node-manual"
    found: dict[str, object] = {
        "Identity": Identity(
            options.csi_name,
            VERSION,
            ("CONTROLLER_SERVICE",) if has_controller else (),
            online_expansion=has_controller,
        )
    }
    close: Callable[[], None] = _nothing
    if "controller" in options.modes and has_controller:
        store, close = _store(options, config)
        found["Controller"] = VolumeController(store, NfsTraits(options, config))
    if "node" in options.modes:
        found["Node"] = NfsNode(knows_multi_writer=options.knows_multi_writer)
    return found, close


def _store(options: Options, config: Config) -> tuple[Store, Callable[[], None]]:
    if config.zfs is not None and config.ssh is not None:
        ssh = Ssh(config.ssh, Path(options.config_file).parent)
        return ZfsStore(ssh, config, config.zfs), ssh.close
    base = on_client(config.controller_base)
    _mount_share(config, base)
    store = FolderStore(base, lambda name: name, volume_folder="v", snapshot_folder="s", mode=config.dir_mode)
    store.prepare()
    return store, _nothing


def _mount_share(config: Config, base: Path) -> None:
    """The share where the controller works in it; mounted there already is fine."""
    base.mkdir(parents=True, exist_ok=True)
    source = f"{config.share_host}:{config.share_base}"
    try:
        if mounts.mount_at(str(base)) is None:
            mounter.mount_device(source, str(base), "nfs", ["nolock"])
    except CommandError as error:
        raise ConfigError(
            f"nfs.controllerBasePath is {config.controller_base}: {source} cannot be mounted there: {error}"
        ) from None


def _nothing() -> None:
    pass
