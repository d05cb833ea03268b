"""Puts the driver together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sandbox.standins.csi import capabilities
from sandbox.standins.csi.folder_store import FolderStore
from sandbox.standins.csi.identity import Identity
from sandbox.standins.csi.volume_controller import VolumeController
from sandbox.standins.csi.volume_store import Volume
from sandbox.standins.democratic_csi.config import Config
from sandbox.standins.democratic_csi.node import FS_TYPES, NfsNode
from sandbox.standins.democratic_csi.options import VERSION, Options
from sandbox.standins.democratic_csi.ssh import Ssh
from sandbox.standins.democratic_csi.zfs_store import ZfsStore

_ZFS_ONLY: Final = ("LIST_VOLUMES", "GET_CAPACITY", "LIST_SNAPSHOTS", "EXPAND_VOLUME")


class NfsTraits:
    """Volumes that every client may mount."""

    node_expansion = False

    def __init__(self, options: Options, config: Config, share: Callable[[Volume], Mapping[str, str]]) -> None:
        """`share` says how a node mounts a volume."""
        self._config = config
        self._share = share
        self.sized = config.zfs is not None and config.zfs.quotas
        names = ["CREATE_DELETE_VOLUME", "CREATE_DELETE_SNAPSHOT", "CLONE_VOLUME"]
        names += _ZFS_ONLY if config.zfs else []
        names += ["SINGLE_NODE_MULTI_WRITER"] if options.knows_multi_writer else []
        self.capabilities: Sequence[str] = names

    def refusal(self, capability: Any) -> str:
        """Every access mode is fine, shares are the only file systems."""
        return capabilities.refusal(capability, capabilities.EVERY_MODE, FS_TYPES)

    def check_parameters(self, parameters: Mapping[str, str]) -> None:
        """Any: upstream ignores what it does not know."""
        del parameters

    def context(self, volume: Volume) -> dict[str, str]:
        """What a node needs to mount it."""
        config = self._config
        found = {**self._share(volume), "provisioner_driver": config.driver}
        return found | ({"provisioner_driver_instance_id": config.instance_id} if config.instance_id else {})

    def topology(self) -> dict[str, str]:
        """None."""
        return {}


def services(options: Options, config: Config) -> tuple[dict[str, object], Callable[[], None]]:
    """The services of the modes, and what to do at the end; raises OSError."""
    has_controller = config.driver != "node-manual"
    controller, check, close = None, None, _nothing
    if "controller" in options.modes and has_controller:
        controller, check, close = _controller(options, config)
    found: dict[str, object] = {
        "Identity": Identity(
            options.csi_name,
            VERSION,
            ("CONTROLLER_SERVICE",) if has_controller else (),
            online_expansion=config.zfs is not None,
            check=check,
        )
    }
    found |= {"Controller": controller} if controller else {}
    if "node" in options.modes:
        found["Node"] = NfsNode(knows_multi_writer=options.knows_multi_writer)
    return found, close


def _controller(
    options: Options, config: Config
) -> tuple[VolumeController, Callable[[], None] | None, Callable[[], None]]:
    """The controller, what a probe checks, and what to do at the end."""
    if config.zfs is not None and config.ssh is not None:
        ssh = Ssh(config.ssh)
        zfs = ZfsStore(ssh, config, config.zfs)
        return VolumeController(zfs, NfsTraits(options, config, zfs.context)), zfs.ready, ssh.close
    # Upstream takes it for the share and does not look: where nothing is mounted, its volumes are its own folders.
    base = Path(config.controller_base)
    folders = FolderStore(base, lambda name: name, volume_folder="v", snapshot_folder="s", mode=config.dir_mode)
    folders.prepare()

    def share(volume: Volume) -> dict[str, str]:
        path = f"{config.share_base}/v/{volume.volume_id}"
        return {"node_attach_driver": "nfs", "server": config.share_host, "share": path}

    return VolumeController(folders, NfsTraits(options, config, share)), None, _nothing


def _nothing() -> None:
    pass
