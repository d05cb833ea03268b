"""Starts the plugin; the engine passes its own address as the first argument."""

from provider.plugin import NomadCsiPlugin
from provider.rpc.server import serve

if __name__ == "__main__":
    serve(NomadCsiPlugin())
