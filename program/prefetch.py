"""What is asked of AWS and Nomad before anything is planned, and asked at once.

The engine starts a plugin, one after the other, for the first question to each. That takes as long as Python takes to
import the rest of the program, so this module imports nothing else and its questions are sent first.
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

_AT_ONCE = 8
# A default provider is one for each version, and the SDKs' resources ask for their own.
_SDKS = {"aws": "pulumi-aws", "nomad": "pulumi-nomad"}


class Unanswered(Exception):  # noqa: N818 - says it already
    """A plugin's error, in its own words."""


class Questions:
    """Functions of plugins, called in the background."""

    def __init__(self) -> None:
        # Looked up here, so that the questions leave in this order: AWS takes longest.
        self._versions = {package: importlib.metadata.version(sdk) for package, sdk in _SDKS.items()}
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="question")
        self.identity = self.ask("aws:index/getCallerIdentity:getCallerIdentity")
        self.zones = self.ask("aws:index/getAvailabilityZones:getAvailabilityZones", {"state": "available"})
        self.cluster = self.ask("nomad-csi:index:getCluster")
        # Our own plugin asks about the clients; this shows that the nomad provider reaches the cluster as well.
        self.plugins = self.ask("nomad:index/getPlugins:getPlugins")

    def ask(self, function: str, args: Mapping[str, Any] | None = None) -> "Future[dict[str, Any]]":
        """Calls a plugin's function; the result is its answer, or raises Unanswered."""
        call: Callable[..., dict[str, Any]] = contextvars.copy_context().run
        sent = Struct()
        sent.update(dict(args or {}))
        version = self._versions.get(function.split(":", 1)[0], "")
        request = resource_pb2.ResourceInvokeRequest(tok=function, args=sent, version=version)
        return self._threads.submit(call, _invoke, request)


def _invoke(request: resource_pb2.ResourceInvokeRequest) -> dict[str, Any]:
    try:
        monitor: Any = get_monitor()
        answer = monitor.Invoke(request)
    except RpcError as error:
        raise Unanswered(_cause(error)) from None
    if answer.failures:
        raise Unanswered(f"{answer.failures[0].property}: {answer.failures[0].reason}")
    return MessageToDict(getattr(answer, "return"))


def _cause(error: RpcError) -> str:
    """The plugin's own words, without the engine's wrapping."""
    text = str(error.details() or error.code()).strip()
    return text.rsplit("returned an error: ", 1)[-1].rstrip(".")
