"""The smallest CSI node plugin that Nomad takes for healthy: no storage behind it, no controller needed."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import csi_pb2
import csi_pb2_grpc
import grpc

from tests.providers.nomad.csi_zone import ZONE


class Identity(csi_pb2_grpc.IdentityServicer):  # type: ignore[misc]
    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        return csi_pb2.GetPluginInfoResponse(name="node.example.test", vendor_version="1.2.3")

    def GetPluginCapabilities(self, request: Any, context: Any) -> Any:  # noqa: N802
        kind = csi_pb2.PluginCapability.Service.VOLUME_ACCESSIBILITY_CONSTRAINTS
        service = csi_pb2.PluginCapability.Service(type=kind)
        return csi_pb2.GetPluginCapabilitiesResponse(capabilities=[csi_pb2.PluginCapability(service=service)])

    def Probe(self, request: Any, context: Any) -> Any:  # noqa: N802
        return csi_pb2.ProbeResponse()


class Node(csi_pb2_grpc.NodeServicer):  # type: ignore[misc]
    def NodeGetCapabilities(self, request: Any, context: Any) -> Any:  # noqa: N802
        return csi_pb2.NodeGetCapabilitiesResponse()

    def NodeGetInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        return csi_pb2.NodeGetInfoResponse(node_id="node-1", accessible_topology=csi_pb2.Topology(segments=ZONE))


def main() -> None:
    server = grpc.server(ThreadPoolExecutor(4))
    csi_pb2_grpc.add_IdentityServicer_to_server(Identity(), server)
    csi_pb2_grpc.add_NodeServicer_to_server(Node(), server)
    server.add_insecure_port(os.environ["CSI_ENDPOINT"])
    server.start()
    signal.signal(signal.SIGTERM, lambda *_: server.stop(1))
    signal.signal(signal.SIGINT, lambda *_: server.stop(1))
    server.wait_for_termination()


if __name__ == "__main__":
    main()
