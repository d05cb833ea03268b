# ruff: noqa: A001, ARG002, N802 - the method names and signatures are the protocol's
"""The calls of the Pulumi engine, each handed to the plugin's type or function that it is for."""

import functools
import json
import threading
from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.engine_log import EngineLog
from nomad_stateful.plugin_server.errors import RefusedError, clean_errors, init_failed
from nomad_stateful.plugin_server.plugin import InitFailed, InvokeFailure, Plugin, ResourceType
from nomad_stateful.plugin_server.responses import check_failure, check_response, diff_response, invoke_response
from nomad_stateful.plugin_server.stubs import plugin_pb2, provider_pb2, provider_pb2_grpc
from nomad_stateful.plugin_server.values import Props, marshal, unmarshal
from nomad_stateful.waiting import Context

# After a cancel, what is being made, changed or deleted may still end: its outcome is worth having.
CANCEL_GRACE_S = 5.0


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Answers the engine with what the plugin's types and functions return."""

    def __init__(self, plugin: Plugin, engine: EngineLog) -> None:
        self.plugin = plugin
        self.engine = engine
        self.cancelled = plugin.cancelled = threading.Event()
        self._resources = {resource.token: resource for resource in plugin.resources}
        self._functions = {function.token: function for function in plugin.functions}

    # -- the plugin itself --------------------------------------------------------------------------------------

    @clean_errors
    def Handshake(self, request: Any, context: Any) -> Any:
        self.engine.address = request.engine_address or self.engine.address
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True, accept_outputs=True)

    @clean_errors
    def Attach(self, request: Any, context: Any) -> Any:
        self.engine.address = request.address
        return Empty()

    @clean_errors
    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=self.plugin.version)

    @clean_errors
    def GetSchema(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetSchemaResponse(schema=json.dumps(self.plugin.schema()))

    @clean_errors
    def GetMapping(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetMappingResponse()

    @clean_errors
    def GetMappings(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetMappingsResponse()

    @clean_errors
    def Parameterize(self, request: Any, context: Any) -> Any:
        raise self._unimplemented("parameterization")

    def Construct(self, request: Any, context: Any) -> Any:
        components = self.plugin.components()
        if components is None:
            refused = self._unimplemented("component resources")
            return context.abort(refused.code, str(refused))
        # The SDK has its own way to end a call.
        return components.construct(request, context, self.engine.address)

    @clean_errors
    def Call(self, request: Any, context: Any) -> Any:
        raise self._unimplemented("resource methods")

    def _unimplemented(self, what: str) -> RefusedError:
        return RefusedError(f"the {self.plugin.name} plugin has no {what}", grpc.StatusCode.UNIMPLEMENTED)

    @clean_errors
    def Cancel(self, request: Any, context: Any) -> Any:
        self.cancelled.set()
        return Empty()

    # -- configuration ------------------------------------------------------------------------------------------

    @clean_errors
    def CheckConfig(self, request: Any, context: Any) -> Any:
        olds, _ = unmarshal(request.olds)
        news, secrets = unmarshal(request.news)
        checked = self.plugin.check_config(self._context(request), olds, news)
        return check_response(checked, secrets | self.plugin.secret_config)

    @clean_errors
    def DiffConfig(self, request: Any, context: Any) -> Any:
        olds, _ = unmarshal(request.old_inputs if request.HasField("old_inputs") else request.olds)
        news, _ = unmarshal(request.news)
        return diff_response(self.plugin.diff_config(olds, news))

    @clean_errors
    def Configure(self, request: Any, context: Any) -> Any:
        config, _ = unmarshal(request.args)
        self.plugin.configure(config)
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True, acceptOutputs=True)

    # -- resources ----------------------------------------------------------------------------------------------

    @clean_errors
    def Check(self, request: Any, context: Any) -> Any:
        resource = self._resource(request, "Check")
        olds, _ = unmarshal(request.olds)
        news, secrets = unmarshal(request.news)
        news = {key: value for key, value in news.items() if value is not None}
        ctx = self._context(request, random_seed=request.randomSeed)
        checked = ctx.call(lambda: resource.check(ctx, olds, news))
        return check_response(checked, secrets | resource.secret_outputs)

    @clean_errors
    def Diff(self, request: Any, context: Any) -> Any:
        resource = self._resource(request, "Diff")
        state, _ = unmarshal(request.olds)
        old_inputs, _ = unmarshal(request.old_inputs)
        news, _ = unmarshal(request.news)
        ctx = self._context(request, ignore_changes=list(request.ignoreChanges))
        return diff_response(ctx.call(lambda: resource.diff(ctx, request.id, state, old_inputs, news)))

    @clean_errors
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
            raise init_failed(failed, secrets) from failed
        return provider_pb2.CreateResponse(id=id, properties=marshal(outputs, secrets))

    @clean_errors
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
            raise init_failed(failed, secrets) from failed
        return provider_pb2.UpdateResponse(properties=marshal(outputs, secrets))

    @clean_errors
    def Read(self, request: Any, context: Any) -> Any:
        resource = self._resource(request, "Read")
        inputs, input_secrets = unmarshal(request.inputs)
        state, state_secrets = unmarshal(request.properties)
        secrets = _secret_keys(resource, input_secrets, state_secrets, inputs)
        ctx = self._context(request, timeout_s=request.timeout or None)
        try:
            found = ctx.call(lambda: resource.read(ctx, request.id, inputs, state))
        except InitFailed as failed:
            raise init_failed(failed, secrets) from failed
        if found is None:
            return provider_pb2.ReadResponse()
        return provider_pb2.ReadResponse(
            id=found.id, properties=marshal(found.outputs, secrets), inputs=marshal(found.inputs, secrets)
        )

    @clean_errors
    def Delete(self, request: Any, context: Any) -> Any:
        resource = self._resource(request, "Delete")
        state, _ = unmarshal(request.properties)
        ctx = self._context(request, timeout_s=request.timeout or None)
        ctx.call(lambda: resource.delete(ctx, request.id, state), CANCEL_GRACE_S)
        return Empty()

    @clean_errors
    def Invoke(self, request: Any, context: Any) -> Any:
        function = self._functions.get(request.tok)
        if function is None:
            raise self._unrecognized("data function", "Invoke", request.tok)
        args, _ = unmarshal(request.args)
        try:
            ctx = Context(cancelled=self.cancelled, sink=self.engine.log)
            result = ctx.call(lambda: function.invoke(ctx, args))
        except InvokeFailure as failure:
            return provider_pb2.InvokeResponse(failures=[check_failure(failure.property, failure.reason)])
        return invoke_response(marshal(result))

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


def _names_from_urn(urn: str) -> tuple[str, str]:
    """Returns the type token and logical name of urn:pulumi:<stack>::<project>::<parent types$type>::<name>."""
    parts = urn.split("::", 3)
    if len(parts) != 4:
        raise ProviderError(f"not a resource URN: {urn}")
    return parts[2].rsplit("$", 1)[-1], parts[3]


def _secret_keys(resource: ResourceType, news: set[str], olds: set[str], new_props: Props) -> set[str]:
    """Returns the keys to wrap: secret now, computed and secret in the state, or declared so by the type."""
    return news | {key for key in olds if key not in new_props} | resource.secret_outputs
