"""Puts the driver together and runs it until it is told to stop."""

from __future__ import annotations

import os
from concurrent.futures import Future
from threading import Event, Thread

from sandbox.standins.csi import logs, program
from sandbox.standins.csi.identity import Identity
from sandbox.standins.csi.metadata import MetadataClient, MetadataError, NodeIdentity
from sandbox.standins.ebs_csi_driver import metrics
from sandbox.standins.ebs_csi_driver.cloud.client import REGION_VARIABLE
from sandbox.standins.ebs_csi_driver.devices import DeviceFinder
from sandbox.standins.ebs_csi_driver.node import NodeService, NodeSettings
from sandbox.standins.ebs_csi_driver.options import Options
from sandbox.standins.ebs_csi_driver.version import DRIVER_NAME, DRIVER_VERSION, since


class Driver:
    """One running driver. Its socket is there before it knows who it is: whoever watches the socket waits less."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._finder = DeviceFinder()
        self._identity: Future[NodeIdentity] = Future()
        self._metrics = metrics.Metrics(
            controller=options.mode.is_controller,
            instance_id=(lambda: self._identity.result().instance_id) if options.mode.is_node else None,
        )
        self._stop = Event()
        self._failure = ""

    def run(self) -> int:
        """Serves until SIGTERM or SIGINT; the exit status. Raises OSError, ValueError."""
        options = self._options
        logs.info("Driver Information", Driver=DRIVER_NAME, Version=DRIVER_VERSION, Mode=options.mode.value)
        if options.http_endpoint:
            metrics.serve(options.http_endpoint, self._metrics)
        if options.mode.is_node or not os.environ.get(REGION_VARIABLE):
            Thread(target=self._learn_identity, name="imds", daemon=True).start()
        status = program.serve(options.endpoint, self._services(), self._stop)
        if self._failure:
            logs.error("Failed to get node identity", err=self._failure)
        return 1 if self._failure else status

    def _services(self) -> dict[str, object]:
        services: dict[str, object] = {}
        check = None
        if self._options.mode.is_controller:
            from sandbox.standins.ebs_csi_driver.wiring import controller

            service = controller(self._options, self._region, self._metrics)
            services["Controller"] = service
            check = service.check_cloud if since(1, 50) else None
        if self._options.mode.is_node:
            settings = NodeSettings(
                volume_attach_limit=self._options.volume_attach_limit,
                reserved_volume_attachments=self._options.reserved_volume_attachments,
            )
            services["Node"] = NodeService(settings, self._identity.result, self._finder)
        # A controller exists somewhere, whatever the mode of this process.
        has = ("CONTROLLER_SERVICE", "VOLUME_ACCESSIBILITY_CONSTRAINTS")
        return services | {"Identity": Identity(DRIVER_NAME, DRIVER_VERSION, has, check=check, says_ready=False)}

    def _region(self) -> str:
        return os.environ.get(REGION_VARIABLE) or self._identity.result().region

    def _learn_identity(self) -> None:
        try:
            identity = MetadataClient.from_env().identity_with_retry()
        except MetadataError as error:
            self._identity.set_exception(error)
            self._failure = str(error)
            self._stop.set()
            return
        logs.info("Node identity", instanceID=identity.instance_id, zone=identity.zone, type=identity.instance_type)
        self._identity.set_result(identity)
