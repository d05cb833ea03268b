"""Calls the provider functions that every run needs, before the rest of the program is imported.

The engine starts a plugin, one after the other, at the first call to each. That takes as long as Python takes to import
the rest of the program, so this module imports nothing else and its calls are sent first.
"""

import contextvars
import importlib.metadata
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct
from grpc import RpcError
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import get_monitor

_CONCURRENT_CALLS = 8
# A default provider is one for each version, and the SDKs' resources ask for their own.
_SDKS = {"aws": "pulumi-aws", "nomad": "pulumi-nomad"}


class CallError(Exception):
    """A plugin's error, in its own words."""


class Prefetch:
    """Functions of plugins, called in the background."""

    def __init__(self) -> None:
        # Looked up here, so that the calls leave in this order: AWS takes longest.
        self._versions = {package: importlib.metadata.version(sdk) for package, sdk in _SDKS.items()}
        self._threads = ThreadPoolExecutor(_CONCURRENT_CALLS, thread_name_prefix="prefetch")
        self.identity = self.call("aws:index/getCallerIdentity:getCallerIdentity")
        self.zones = self.call("aws:index/getAvailabilityZones:getAvailabilityZones", {"state": "available"})
        self.cluster = self.call("nomad-csi:index:getCluster")
        # getCluster is our own plugin's; this shows that the nomad provider reaches the cluster as well.
        self.plugins = self.call("nomad:index/getPlugins:getPlugins")

    def call(self, function: str, args: Mapping[str, Any] | None = None) -> "Future[dict[str, Any]]":
        """Calls a plugin's function in the background; the result is its answer, or raises CallError."""
        in_context: Callable[..., dict[str, Any]] = contextvars.copy_context().run
        sent = Struct()
        sent.update(dict(args or {}))
        version = self._versions.get(function.split(":", 1)[0], "")
        request = resource_pb2.ResourceInvokeRequest(tok=function, args=sent, version=version)
        return self._threads.submit(in_context, _invoke, request)


def _invoke(request: resource_pb2.ResourceInvokeRequest) -> dict[str, Any]:
    try:
        monitor: Any = get_monitor()
        answer = monitor.Invoke(request)
    except RpcError as error:
        raise CallError(_cause(error)) from None
    if answer.failures:
        raise CallError(f"{answer.failures[0].property}: {answer.failures[0].reason}")
    return MessageToDict(getattr(answer, "return"))


def _cause(error: RpcError) -> str:
    """Returns the plugin's own words, without the engine's wrapping."""
    text = str(error.details() or error.code()).strip()
    return text.rsplit("returned an error: ", 1)[-1].rstrip(".")
