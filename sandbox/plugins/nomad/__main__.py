"""Runs the plugin: python -m sandbox.plugins.nomad ENGINE_ADDRESS."""

import gc

gc.set_threshold(200_000, 30, 30)  # what is imported stays: looking for garbage there is a tenth of the start

from provider.rpc.server import serve

from .plugin import NomadPlugin

if __name__ == "__main__":
    serve(NomadPlugin())
