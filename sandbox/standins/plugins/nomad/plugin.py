"""The plugin: the types and functions it has, under the official plugin's name and version."""

from __future__ import annotations

from nomad_stateful.nomad import api as nomad_api
from nomad_stateful.plugin_server.plugin import Checked, Function, Plugin, Props, ResourceType
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.nomad.config import SECRET_CONFIG, Connection, config_failures
from sandbox.standins.plugins.nomad.csi_volumes import CsiVolume, CsiVolumeRegistration
from sandbox.standins.plugins.nomad.job import JobResource
from sandbox.standins.plugins.nomad.jobspec import JobspecParser
from sandbox.standins.plugins.nomad.plugin_functions import GetPlugin, GetPlugins
from sandbox.standins.plugins.nomad.variable import Variable

VERSION = "2.6.1"


class NomadPlugin(Plugin):
    """Nomad resources for programs that use the pulumi-nomad SDK of the same version."""

    name = "nomad"
    version = VERSION
    secret_config = SECRET_CONFIG

    def __init__(self) -> None:
        self._connection = Connection()
        parser = JobspecParser()
        resources: list[ResourceType] = [
            JobResource(self._connection, parser),
            CsiVolumeRegistration(self._connection),
            CsiVolume(self._connection),
            Variable(self._connection),
        ]
        functions: list[Function] = [GetPlugin(self._connection), GetPlugins(self._connection)]
        self.resources, self.functions = resources, functions
        tokens = ", ".join(
            [token.rpartition(":")[2] for token in [*(r.token for r in resources), *(f.token for f in functions)]]
        )
        self.unrecognized_note = f"The embedded nomad plugin implements {tokens}; use the official plugin for the rest."

    def prepare(self) -> None:
        """The HTTP client."""
        nomad_api.prepare()

    def check_config(self, ctx: Context, olds: Props, news: Props) -> Checked:
        """An address is needed, here or in the environment."""
        return Checked(news, config_failures(news))

    def configure(self, config: Props) -> None:
        self._connection.configure(config, cancelled=self.cancelled)
