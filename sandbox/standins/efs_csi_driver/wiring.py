"""Puts the driver together; who the node is gets known while it serves."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Thread
from typing import Any

from sandbox.standins.csi import logs
from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.csi.identity import Identity
from sandbox.standins.csi.metadata import MetadataClient, MetadataError, NodeIdentity
from sandbox.standins.efs_csi_driver.node import EfsNode
from sandbox.standins.efs_csi_driver.options import DRIVER_NAME, DRIVER_VERSION, Options
from sandbox.standins.efs_csi_driver.state import MountStates, config_folder, write_config


class NoController:
    """csi.v1.Controller without provisioning: each other call is UNIMPLEMENTED, by its name."""

    def controller_get_capabilities(self, _request: Any, _timeout_s: float | None) -> Any:
        """None."""
        return csi.ControllerGetCapabilitiesResponse()


def services(options: Options) -> dict[str, object]:
    """Identity, node, and a controller that has nothing to offer: file systems and access points exist already."""
    states = MountStates()
    states.prepare()
    identity: Future[NodeIdentity] = Future()
    Thread(target=_learn, args=(identity,), name="imds", daemon=True).start()
    return {
        "Identity": Identity(DRIVER_NAME, DRIVER_VERSION),
        "Controller": NoController(),
        "Node": EfsNode(options, identity.result, states),
    }


def _learn(identity: Future[NodeIdentity]) -> None:
    try:
        found = MetadataClient.from_env().identity_with_retry()
    except MetadataError as error:
        logs.error("Failed to get node identity", err=error)
        identity.set_exception(error)
        return
    logs.info("Node identity", instanceID=found.instance_id, zone=found.zone)
    try:
        write_config(config_folder(), found.region)
    except OSError as error:
        logs.error("The folder is not writable: mounts may not find their region", err=error)
    identity.set_result(found)
