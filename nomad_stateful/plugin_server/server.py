# ruff: noqa: A001, ARG002, N802 - the method names and signatures are the protocol's
"""The gRPC server between the Pulumi engine and a Plugin."""

from __future__ import annotations

import functools
import json
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct

from .diffing import Kind, top_level
from .ending import Ending
from .plugin import Checked, Context, Diff, InitFailed, InvokeFailure, Plugin, ResourceType, Severity
from .stubs import engine_pb2, engine_pb2_grpc, plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2
from .values import Props, ProviderError, marshal, unmarshal
from .workers import Workers

# The engine runs as many operations at once as it is told to, and each wait holds a thread: Cancel must still get one.
MAX_THREADS = 256
STOP_GRACE_S = 5.0
LOG_TIMEOUT_S = 5.0
# After a cancel, what is being made, changed or deleted may still end: its outcome is worth having.
CANCEL_GRACE_S = 5.0
_MAX_MESSAGE_BYTES = 400 * 1024 * 1024
_GRPC_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
]
_SEVERITIES: dict[Severity, engine_pb2.LogSeverity.ValueType] = {
    "debug": engine_pb2.DEBUG,
    "info": engine_pb2.INFO,
    "warning": engine_pb2.WARNING,
    "error": engine_pb2.ERROR,
}
_KINDS: dict[Kind, provider_pb2.PropertyDiff.Kind.ValueType] = {
    Kind.ADD: provider_pb2.PropertyDiff.ADD,
    Kind.ADD_REPLACE: provider_pb2.PropertyDiff.ADD_REPLACE,
    Kind.DELETE: provider_pb2.PropertyDiff.DELETE,
    Kind.DELETE_REPLACE: provider_pb2.PropertyDiff.DELETE_REPLACE,
    Kind.UPDATE: provider_pb2.PropertyDiff.UPDATE,
    Kind.UPDATE_REPLACE: provider_pb2.PropertyDiff.UPDATE_REPLACE,
}

Method = TypeVar("Method", bound=Callable[..., Any])


class _RefusedError(Exception):
    """A call that ends with a gRPC status of our own making."""

    def __init__(self, message: str, code: grpc.StatusCode, detail: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.detail = detail


def _clean_errors(method: Method) -> Method:
    """Turns exceptions into gRPC statuses: the message alone for the user, the traceback for `--debug`."""

    @functools.wraps(method)
    def call(self: _Servicer, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(self, request, context)
        except _RefusedError as refused:
            code, message, detail = refused.code, str(refused), refused.detail
        except ProviderError as error:
            code, message, detail = grpc.StatusCode.UNKNOWN, str(error), None
        except Exception as error:  # noqa: BLE001 - the boundary: nothing may reach the user as a traceback
            self.engine.log("debug", traceback.format_exc(), getattr(request, "urn", ""), False)
            text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            message = f"the {self.plugin.name} plugin failed in {method.__name__} ({text}); --debug shows where"
            code, detail = grpc.StatusCode.UNKNOWN, None
        if detail is not None:
            packed = AnyMessage()
            packed.Pack(detail)
            status = status_pb2.Status(code=code.value[0], message=message, details=[packed])
            context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        return context.abort(code, message)

    return call  # type: ignore[return-value]


class EngineLog:
    """The engine's Log service: how messages reach the user."""

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
                self._stub = engine_pb2_grpc.EngineStub(grpc.insecure_channel(self.address, _GRPC_OPTIONS))
        request = engine_pb2.LogRequest(
            severity=_SEVERITIES[severity], message=message, urn=urn, streamId=0, ephemeral=ephemeral
        )
        try:
            self._stub.Log(request, timeout=LOG_TIMEOUT_S)
        except grpc.RpcError:
            return


def _names_from_urn(urn: str) -> tuple[str, str]:
    """Type token and logical name of urn:pulumi:<stack>::<project>::<parent types$type>::<name>."""
    parts = urn.split("::", 3)
    if len(parts) != 4:
        raise ProviderError(f"not a resource URN: {urn}")
    return parts[2].rsplit("$", 1)[-1], parts[3]


def _secret_keys(resource: ResourceType, news: set[str], olds: set[str], new_props: Props) -> set[str]:
    """Keys to wrap: secret now, or a computed value that was secret in the state, or declared so by the type."""
    return news | {key for key in olds if key not in new_props} | resource.secret_outputs


class _Servicer(provider_pb2_grpc.ResourceProviderServicer):
    def __init__(self, plugin: Plugin, engine: EngineLog) -> None:
        self.plugin = plugin
        self.engine = engine
        self.cancelled = plugin.cancelled = threading.Event()
        self._resources = {resource.token: resource for resource in plugin.resources}
        self._functions = {function.token: function for function in plugin.functions}

    # -- the plugin itself --------------------------------------------------------------------------------------

    @_clean_errors
    def Handshake(self, request: Any, context: Any) -> Any:
        self.engine.address = request.engine_address or self.engine.address
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True)

    @_clean_errors
    def Attach(self, request: Any, context: Any) -> Any:
        self.engine.address = request.address
        return Empty()

    @_clean_errors
    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=self.plugin.version)

    @_clean_errors
    def GetSchema(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetSchemaResponse(schema=json.dumps(self.plugin.schema()))

    @_clean_errors
    def GetMapping(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetMappingResponse()

    @_clean_errors
    def GetMappings(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetMappingsResponse()

    @_clean_errors
    def Parameterize(self, request: Any, context: Any) -> Any:
        raise self._unimplemented("parameterization")

    @_clean_errors
    def Construct(self, request: Any, context: Any) -> Any:
        raise self._unimplemented("component resources")

    @_clean_errors
    def Call(self, request: Any, context: Any) -> Any:
        raise self._unimplemented("resource methods")

    def _unimplemented(self, what: str) -> _RefusedError:
        return _RefusedError(f"the {self.plugin.name} plugin has no {what}", grpc.StatusCode.UNIMPLEMENTED)

    @_clean_errors
    def Cancel(self, request: Any, context: Any) -> Any:
        self.cancelled.set()
        return Empty()

    # -- configuration ------------------------------------------------------------------------------------------

    @_clean_errors
    def CheckConfig(self, request: Any, context: Any) -> Any:
        olds, _ = unmarshal(request.olds)
        news, secrets = unmarshal(request.news)
        checked = self.plugin.check_config(self._context(request), olds, news)
        return _check_response(checked, secrets | self.plugin.secret_config)

    @_clean_errors
    def DiffConfig(self, request: Any, context: Any) -> Any:
        olds, _ = unmarshal(request.old_inputs if request.HasField("old_inputs") else request.olds)
        news, _ = unmarshal(request.news)
        return _diff_response(self.plugin.diff_config(olds, news))

    @_clean_errors
    def Configure(self, request: Any, context: Any) -> Any:
        config, _ = unmarshal(request.args)
        self.plugin.configure(config)
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    # -- resources ----------------------------------------------------------------------------------------------

    @_clean_errors
    def Check(self, request: Any, context: Any) -> Any:
        resource = self._resource(request, "Check")
        olds, _ = unmarshal(request.olds)
        news, secrets = unmarshal(request.news)
        news = {key: value for key, value in news.items() if value is not None}
        ctx = self._context(request, random_seed=request.randomSeed)
        checked = ctx.call(lambda: resource.check(ctx, olds, news))
        return _check_response(checked, secrets | resource.secret_outputs)

    @_clean_errors
    def Diff(self, request: Any, context: Any) -> Any:
        resource = self._resource(request, "Diff")
        state, _ = unmarshal(request.olds)
        old_inputs, _ = unmarshal(request.old_inputs)
        news, _ = unmarshal(request.news)
        ctx = self._context(request, ignore_changes=list(request.ignoreChanges))
        return _diff_response(ctx.call(lambda: resource.diff(ctx, request.id, state, old_inputs, news)))

    @_clean_errors
    def Create(self, request: Any, context: Any) -> Any:
        resource = self._resource(request, "Create")
        inputs, secrets = unmarshal(request.properties)
        secrets |= resource.secret_outputs
        ctx = self._context(request, timeout_s=request.timeout or None)
        if request.preview:
            planned = resource.preview_create(ctx, inputs)
            return provider_pb2.CreateResponse(properties=marshal(planned, secrets))
        try:
            id, outputs = ctx.call(lambda: resource.create(ctx, inputs), CANCEL_GRACE_S)
        except InitFailed as failed:
            raise _init_failed(failed, secrets) from failed
        return provider_pb2.CreateResponse(id=id, properties=marshal(outputs, secrets))

    @_clean_errors
    def Update(self, request: Any, context: Any) -> Any:
        resource = self._resource(request, "Update")
        state, old_secrets = unmarshal(request.olds)
        old_inputs, _ = unmarshal(request.old_inputs)
        news, new_secrets = unmarshal(request.news)
        secrets = _secret_keys(resource, new_secrets, old_secrets, news)
        ctx = self._context(request, timeout_s=request.timeout or None, ignore_changes=list(request.ignoreChanges))
        if request.preview:
            planned = resource.preview_update(ctx, request.id, state, news)
            return provider_pb2.UpdateResponse(properties=marshal(planned, secrets))
        try:
            update = functools.partial(resource.update, ctx, request.id, state, old_inputs, news)
            outputs = ctx.call(update, CANCEL_GRACE_S)
        except InitFailed as failed:
            raise _init_failed(failed, secrets) from failed
        return provider_pb2.UpdateResponse(properties=marshal(outputs, secrets))

    @_clean_errors
    def Read(self, request: Any, context: Any) -> Any:
        resource = self._resource(request, "Read")
        inputs, input_secrets = unmarshal(request.inputs)
        state, state_secrets = unmarshal(request.properties)
        secrets = _secret_keys(resource, input_secrets, state_secrets, inputs)
        ctx = self._context(request, timeout_s=request.timeout or None)
        try:
            found = ctx.call(lambda: resource.read(ctx, request.id, inputs, state))
        except InitFailed as failed:
            raise _init_failed(failed, secrets) from failed
        if found is None:
            return provider_pb2.ReadResponse()
        return provider_pb2.ReadResponse(
            id=found.id, properties=marshal(found.outputs, secrets), inputs=marshal(found.inputs, secrets)
        )

    @_clean_errors
    def Delete(self, request: Any, context: Any) -> Any:
        resource = self._resource(request, "Delete")
        state, _ = unmarshal(request.properties)
        ctx = self._context(request, timeout_s=request.timeout or None)
        ctx.call(lambda: resource.delete(ctx, request.id, state), CANCEL_GRACE_S)
        return Empty()

    @_clean_errors
    def Invoke(self, request: Any, context: Any) -> Any:
        function = self._functions.get(request.tok)
        if function is None:
            raise self._unrecognized("data function", "Invoke", request.tok)
        args, _ = unmarshal(request.args)
        try:
            ctx = Context(cancelled=self.cancelled, sink=self.engine.log)
            result = ctx.call(lambda: function.invoke(ctx, args))
        except InvokeFailure as failure:
            refused = provider_pb2.CheckFailure(property=failure.property, reason=failure.reason)
            return provider_pb2.InvokeResponse(failures=[refused])
        return _invoke_response(marshal(result))

    def _resource(self, request: Any, operation: str) -> ResourceType:
        token, _ = _names_from_urn(request.urn)
        resource = self._resources.get(token)
        if resource is None:
            raise self._unrecognized("resource type", operation, token)
        return resource

    def _unrecognized(self, what: str, operation: str, token: str) -> ProviderError:
        return ProviderError(f"unrecognized {what} ({operation}): {token}. {self.plugin.unrecognized_note}".rstrip())

    def _context(
        self,
        request: Any,
        timeout_s: float | None = None,
        random_seed: bytes = b"",
        ignore_changes: list[str] | None = None,
    ) -> Context:
        return Context(
            cancelled=self.cancelled,
            timeout_s=timeout_s,
            urn=request.urn,
            name=_names_from_urn(request.urn)[1],
            random_seed=random_seed,
            ignore_changes=ignore_changes or [],
            sink=self.engine.log,
        )


def _check_response(checked: Checked, secrets: Iterable[str]) -> provider_pb2.CheckResponse:
    failures = [provider_pb2.CheckFailure(property=f.property, reason=f.reason) for f in checked.failures]
    return provider_pb2.CheckResponse(inputs=marshal(checked.inputs, secrets), failures=failures)


def _diff_response(diff: Diff) -> provider_pb2.DiffResponse:
    """The engine wants one truth told three ways: names, replacing names and detailed paths."""
    replaces = list(dict.fromkeys([*diff.replaces, *(top_level(p) for p, k in diff.detailed.items() if k.replaces)]))
    detailed = {}
    for path, kind in diff.detailed.items():
        shown = kind.as_replace() if top_level(path) in replaces else kind
        detailed[path] = provider_pb2.PropertyDiff(kind=_KINDS[shown], inputDiff=True)
    changed = bool(detailed or replaces)
    return provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE,
        diffs=list(dict.fromkeys(top_level(path) for path in detailed)),
        replaces=replaces,
        stables=diff.stables,
        deleteBeforeReplace=bool(replaces) and diff.delete_before_replace,
        detailedDiff=detailed,
        hasDetailedDiff=True,
    )


def _init_failed(failed: InitFailed, secrets: set[str]) -> _RefusedError:
    detail = provider_pb2.ErrorResourceInitFailed(
        id=failed.id,
        properties=marshal(failed.outputs, secrets),
        reasons=failed.reasons,
        inputs=marshal(failed.inputs, secrets),
    )
    return _RefusedError(str(failed), grpc.StatusCode.UNKNOWN, detail)


def _invoke_response(result: Struct) -> provider_pb2.InvokeResponse:
    response = provider_pb2.InvokeResponse()
    getattr(response, "return").CopyFrom(result)  # a field named like a keyword
    return response


def serve(plugin: Plugin) -> None:
    """Serves the plugin until its parent, the engine, ends it or is gone. Prints the port as its first line."""
    logging.getLogger("grpc").setLevel(logging.CRITICAL)
    engine = EngineLog(sys.argv[1] if len(sys.argv) > 1 else "")
    servicer = _Servicer(plugin, engine)
    workers = Workers(MAX_THREADS)
    server = grpc.server(workers, options=_GRPC_OPTIONS)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    if not port:
        raise SystemExit(f"the {plugin.name} plugin cannot listen on 127.0.0.1")
    server.start()
    ending = Ending()
    print(port, flush=True)
    threading.Thread(target=plugin.prepare, daemon=True).start()
    ending.wait()
    servicer.cancelled.set()
    if workers.busy:  # otherwise the engine would wait for gRPC's own half a second
        server.stop(STOP_GRACE_S).wait()
    sys.stdout.flush()
    os._exit(0)  # a worker thread in a request that cannot be interrupted must not hold the process
