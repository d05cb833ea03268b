"""Puts the driver together."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.standins.csi import capabilities, logs
from sandbox.standins.csi.errors import invalid
from sandbox.standins.csi.folder_store import FolderStore
from sandbox.standins.csi.identity import Identity
from sandbox.standins.csi.volume_controller import VolumeController
from sandbox.standins.csi.volume_store import Volume
from sandbox.standins.hostpath.node import HostPathNode
from sandbox.standins.hostpath.options import VERSION, Options


class HostPathTraits:
    """Volumes of one client: only there can they be reached."""

    sized = True
    node_expansion = True
    capabilities: Sequence[str] = (
        *("CREATE_DELETE_VOLUME", "GET_CAPACITY", "LIST_VOLUMES", "CREATE_DELETE_SNAPSHOT", "LIST_SNAPSHOTS"),
        *("CLONE_VOLUME", "SINGLE_NODE_MULTI_WRITER", "EXPAND_VOLUME"),
    )

    def __init__(self, options: Options) -> None:
        self._options = options

    def refusal(self, capability: Any) -> str:
        """Several writers are fine, as upstream, for they are on this client."""
        return capabilities.refusal(capability, capabilities.EVERY_MODE, ())

    def check_parameters(self, parameters: Mapping[str, str]) -> None:
        """The only parameter names a kind of storage."""
        unknown = sorted(set(parameters) - {"kind"})
        if unknown:
            raise invalid(f"parameter {unknown[0]!r} is not known: the only one is 'kind'")

    def context(self, volume: Volume) -> dict[str, str]:
        """None."""
        del volume
        return {}

    def topology(self) -> dict[str, str]:
        """This client."""
        return topology(self._options)


def topology(options: Options) -> dict[str, str]:
    """The segments of this client."""
    return {"topology.hostpath.csi/node": options.node_id}


def services(options: Options) -> dict[str, object]:
    """Identity, controller and node; raises OSError when the state cannot be kept."""
    folder = Path(options.state_dir)
    store = FolderStore(folder, lambda _name: str(uuid.uuid4()))
    store.prepare()
    logs.info("State", folder=folder.as_posix(), volumes=len(store.volumes()))
    has = ("CONTROLLER_SERVICE", "VOLUME_ACCESSIBILITY_CONSTRAINTS")
    return {
        "Identity": Identity(options.driver_name, VERSION, has),
        "Controller": VolumeController(store, HostPathTraits(options)),
        "Node": HostPathNode(store, options.node_id, topology(options)),
    }
