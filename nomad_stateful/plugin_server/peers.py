"""Who calls a plugin: it has the engine's credentials, and loopback is open to every user of the machine."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import grpc

from nomad_stateful.waiting import Stopwatch

_TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
_ESTABLISHED: Final = "01"
# Shorter than the kernel keeps the port of an ended connection from being used again.
_TRUSTED_S: Final = 0.9
_MAX_KNOWN: Final = 64


if TYPE_CHECKING:
    _Interceptor = grpc.ServerInterceptor[Any, Any]
else:
    _Interceptor = grpc.ServerInterceptor


class OwnUserOnly(_Interceptor):
    """Refuses calls of other users than the plugin's own and root. Where there is no /proc (macOS), it takes all."""

    def __init__(self) -> None:
        self.port = 0
        """The port that the server listens on."""
        self._known: dict[str, Stopwatch] = {}
        self._lock = threading.Lock()

    def intercept_service(self, continuation: Callable[[Any], Any], handler_call_details: Any) -> Any:
        """Puts the check before each method."""
        handler = continuation(handler_call_details)
        if handler is None or sys.platform != "linux":
            return handler

        def checked(request: Any, context: grpc.ServicerContext) -> Any:
            if not self._is_own(context.peer()):
                context.abort(
                    grpc.StatusCode.PERMISSION_DENIED,
                    "this plugin serves the user who started it, and root; run pulumi as that user",
                )
            return handler.unary_unary(request, context)

        return grpc.unary_unary_rpc_method_handler(checked, handler.request_deserializer, handler.response_serializer)

    def _is_own(self, peer: str) -> bool:
        # One at a time: looking takes the kernel milliseconds, and calls come many at once.
        with self._lock:
            looked = self._known.get(peer)
            if looked is not None and looked.seconds < _TRUSTED_S:
                return True
            if uid_of(peer, self.port) not in {0, os.getuid()}:
                return False
            if len(self._known) >= _MAX_KNOWN:
                self._known = {}
            self._known[peer] = Stopwatch()
            return True


def uid_of(peer: str, port: int) -> int | None:
    """The user at the other end of a connection to a port of 127.0.0.1; None when there is no such connection.

    `peer` is as gRPC writes it: ipv4:127.0.0.1:40000.
    """
    kind, _, address = peer.partition(":")
    host, _, peer_port = address.rpartition(":")
    if kind != "ipv4" or not peer_port.isdecimal():
        return None
    local = _words(host)
    wanted = (f"{local}:{int(peer_port):04X}", f"{_words('127.0.0.1')}:{port:04X}")
    for fields in _sockets():
        # A socket that was closed counts as root's: only one that some process holds has an owner.
        if fields[3] == _ESTABLISHED and (fields[1][-13:], fields[2][-13:]) == wanted:
            return int(fields[7])
    return None


def _sockets() -> Iterator[list[str]]:
    for table in _TABLES:
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            continue
        yield from (line.split() for line in lines[1:])


def _words(address: str) -> str:
    """An IPv4 address as the kernel prints it, which is also how one of IPv6 that stands for it ends."""
    packed = bytes(int(part) for part in address.split("."))
    return f"{int.from_bytes(packed, sys.byteorder):08X}"
