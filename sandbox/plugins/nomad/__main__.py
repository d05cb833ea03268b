"""Runs the plugin: python -m sandbox.plugins.nomad ENGINE_ADDRESS."""

from provider.rpc.server import serve

from .plugin import NomadPlugin

if __name__ == "__main__":
    serve(NomadPlugin())
