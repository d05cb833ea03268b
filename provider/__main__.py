"""Starts the plugin; the engine passes its own address as the first argument."""

# ruff: noqa: E402

from provider.garbage import collect_rarely

collect_rarely()  # before the imports

from provider.plugin import NomadCsiPlugin
from provider.rpc.server import serve


def run() -> None:
    """Serves until the engine is done."""
    serve(NomadCsiPlugin())


if __name__ == "__main__":
    run()
