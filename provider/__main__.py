"""Starts the plugin; the engine passes its own address as the first argument."""

import gc

gc.set_threshold(200_000, 30, 30)  # what is imported stays: looking for garbage there is a tenth of the start

from provider.plugin import NomadCsiPlugin
from provider.rpc.server import serve


def run() -> None:
    """Serves until the engine is done."""
    serve(NomadCsiPlugin())


if __name__ == "__main__":
    run()
