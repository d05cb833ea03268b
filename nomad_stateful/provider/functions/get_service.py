"""getService: where a job answers right now."""

from __future__ import annotations

from nomad_stateful.nomad import running_job
from nomad_stateful.nomad.api import NomadNotFound
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.provider.declared import DeclaredFunction, OnCluster
from nomad_stateful.schema.functions import GET_SERVICE
from nomad_stateful.waiting import Context


class GetService(OnCluster, DeclaredFunction):
    """The newest running allocation of a job's group and the address of its port; empty while none runs."""

    table = GET_SERVICE

    def invoke(self, ctx: Context, args: Props) -> Props:
        namespace = self.table.arguments(args)["namespace"]
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
