"""Runs the plugin: python -m sandbox.standins.plugins.nomad ENGINE_ADDRESS."""

# ruff: noqa: E402

from nomad_stateful.garbage import collect_rarely

collect_rarely()  # before the imports

from nomad_stateful.plugin_server.server import serve
from sandbox.standins.plugins.nomad.plugin import NomadPlugin

if __name__ == "__main__":
    serve(NomadPlugin())
