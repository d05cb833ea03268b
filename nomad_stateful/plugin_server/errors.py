"""How failures end a call: as the user's message alone, never as a traceback."""

import functools
import traceback
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.engine_log import EngineLog, told
from nomad_stateful.plugin_server.plugin import InitFailed, Plugin
from nomad_stateful.plugin_server.stubs import provider_pb2, status_pb2
from nomad_stateful.plugin_server.values import marshal

Method = TypeVar("Method", bound=Callable[..., Any])


class Server(Protocol):
    """What the calls belong to."""

    plugin: Plugin
    engine: EngineLog


class RefusedError(Exception):
    """A call that ends with a gRPC status of our own making."""

    def __init__(self, message: str, code: grpc.StatusCode, detail: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.detail = detail


def clean_errors(method: Method) -> Method:
    """Turns exceptions into gRPC statuses: the message alone for the user, the traceback for `--debug`."""

    @functools.wraps(method)
    def call(self: Server, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(self, request, context)
        except RefusedError as refused:
            code, message, detail = refused.code, str(refused), refused.detail
        except ProviderError as error:
            code, message, detail = grpc.StatusCode.UNKNOWN, str(error), None
        except Exception as error:  # noqa: BLE001 - the boundary: nothing may reach the user as a traceback
            self.engine.log("debug", traceback.format_exc(), getattr(request, "urn", ""), False)
            text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            message = f"the {self.plugin.name} plugin failed in {method.__name__} ({text}); --debug shows where"
            code, detail = grpc.StatusCode.UNKNOWN, None
        message = told(message)
        if detail is not None:
            packed = AnyMessage()
            packed.Pack(detail)
            status = status_pb2.Status(code=code.value[0], message=message, details=[packed])
            context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        return context.abort(code, message)

    return call  # type: ignore[return-value]


def init_failed(failed: InitFailed, secrets: Iterable[str]) -> RefusedError:
    detail = provider_pb2.ErrorResourceInitFailed(
        id=failed.id,
        properties=marshal(failed.outputs, secrets),
        reasons=map(told, failed.reasons),
        inputs=marshal(failed.inputs, secrets),
    )
    return RefusedError(str(failed), grpc.StatusCode.UNKNOWN, detail)
