"""getService: where a job answers right now."""

from __future__ import annotations

from collections.abc import Callable

from nomad_stateful.nomad import running_job
from nomad_stateful.nomad.api import NomadApi, NomadNotFound
from nomad_stateful.plugin_server.plugin import Context, Function, InvokeFailure, Props
from nomad_stateful.provider import validation

_ARGS = ("jobId", "group", "portLabel")


class GetService(Function):
    """The newest running allocation of a job's group and the address of its port; empty while none runs."""

    token = "nomad-csi:index:getService"  # noqa: S105 - a function's name

    def __init__(self, api: Callable[[], NomadApi]) -> None:
        self._api = api

    def invoke(self, ctx: Context, args: Props) -> Props:  # noqa: ARG002 - the signature is the interface
        validation.known_arguments(args, frozenset({*_ARGS, "namespace"}))
        for name in _ARGS:
            if not isinstance(args.get(name), str) or not args[name]:
                raise InvokeFailure(name, f"{name} is required: name the job, its group and its port")
        namespace = args.get("namespace") or "default"
        try:
            found = running_job.endpoint(self._api(), args["jobId"], namespace, args["group"], args["portLabel"])
        except NomadNotFound:
            found = None
        if found is None:
            return {**args, "allocationId": "", "nodeName": "", "host": "", "port": 0}
        return {
            **args,
            "allocationId": found.allocation_id,
            "nodeName": found.node_name,
            "host": found.host,
            "port": found.port,
        }
