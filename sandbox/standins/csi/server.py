"""The gRPC server: one handler for each call of the protocol, found by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import grpc
from google.protobuf.message_factory import GetMessageClass

from sandbox.standins.csi import logs
from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.csi.endpoint import Endpoint
from sandbox.standins.csi.errors import CsiError
from sandbox.standins.csi.sanitize import for_log

WORKERS: Final = 32
_PACKAGE: Final = "csi.v1"


class ListenError(Exception):
    """The endpoint cannot be listened on."""


def _method_name(call: str) -> str:
    """NodeGetInfo -> node_get_info."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", call).lower()


def _handler(call: str, work: Callable[[Any, float | None], Any] | None) -> Callable[..., Any]:
    def handle(request: Any, context: grpc.ServicerContext) -> Any:
        if logs.v(4):
            logs.info(f"{call}: called", level=4, args=for_log(request))
        try:
            if work is None:
                raise CsiError(grpc.StatusCode.UNIMPLEMENTED, f"{call} is not implemented")
            return work(request, context.time_remaining())
        except CsiError as error:
            logs.error("GRPC error", call=call, code=error.code.name, err=error.message)
            return context.abort(error.code, error.message)
        except Exception as error:  # noqa: BLE001 - the orchestrator gets a status, not a broken stream
            code = grpc.StatusCode.INTERNAL
            logs.error("GRPC error", call=call, code=code.name, err=f"{type(error).__name__}: {error}")
            return context.abort(code, f"{call} failed unexpectedly: {type(error).__name__}: {error}")

    return handle


def _generic(service: str, implementation: object) -> Any:
    """The handlers of one service; a call the implementation lacks is UNIMPLEMENTED."""
    handlers = {}
    for method in csi.DESCRIPTOR.services_by_name[service].methods:
        work = getattr(implementation, _method_name(method.name), None)
        handlers[method.name] = grpc.unary_unary_rpc_method_handler(
            _handler(method.name, work),
            request_deserializer=GetMessageClass(method.input_type).FromString,
            response_serializer=GetMessageClass(method.output_type).SerializeToString,
        )
    return grpc.method_handlers_generic_handler(f"{_PACKAGE}.{service}", handlers)


def start(endpoint: Endpoint, services: Mapping[str, object]) -> grpc.Server:
    """Listen and serve; `services` maps Identity, Controller, Node to what implements them. Raises ListenError."""
    server = grpc.server(ThreadPoolExecutor(WORKERS, thread_name_prefix="rpc"))
    server.add_generic_rpc_handlers(tuple(_generic(name, implementation) for name, implementation in services.items()))
    try:
        endpoint.prepare()
        server.add_insecure_port(endpoint.target)
    except (OSError, RuntimeError) as error:
        raise ListenError(f"cannot listen on {endpoint.target}: {error}") from None
    server.start()
    return server
