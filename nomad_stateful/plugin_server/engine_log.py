"""The engine's Log service: how messages reach the user."""

import threading
from typing import Any

import grpc

from nomad_stateful.pages import located
from nomad_stateful.plugin_server.stubs import engine_pb2, engine_pb2_grpc
from nomad_stateful.visible import visible_lines
from nomad_stateful.waiting import Severity

LOG_TIMEOUT_S = 5.0
_MAX_MESSAGE_BYTES = 400 * 1024 * 1024
GRPC_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
]
_SEVERITIES: dict[Severity, engine_pb2.LogSeverity.ValueType] = {
    "debug": engine_pb2.DEBUG,
    "info": engine_pb2.INFO,
    "warning": engine_pb2.WARNING,
    "error": engine_pb2.ERROR,
}


def told(message: str) -> str:
    """Returns a message as the engine gets it: nothing that a terminal obeys, and where the pages are that it names."""
    return visible_lines(located(message))


class EngineLog:
    """Sends messages to the engine; without its address to nobody."""

    def __init__(self, address: str = "") -> None:
        self.address = address
        self._stub: Any = None
        self._lock = threading.Lock()

    def log(self, severity: Severity, message: str, urn: str, ephemeral: bool) -> None:
        """Sends one message; an engine that is gone has nobody to tell."""
        if not self.address:
            return
        with self._lock:
            if self._stub is None:
                self._stub = engine_pb2_grpc.EngineStub(grpc.insecure_channel(self.address, GRPC_OPTIONS))
        request = engine_pb2.LogRequest(
            severity=_SEVERITIES[severity], message=told(message), urn=urn, streamId=0, ephemeral=ephemeral
        )
        try:
            self._stub.Log(request, timeout=LOG_TIMEOUT_S)
        except grpc.RpcError:
            return
