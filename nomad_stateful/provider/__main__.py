"""Starts the plugin; the engine passes its own address as the first argument."""

# ruff: noqa: E402

from nomad_stateful.garbage import collect_rarely

collect_rarely()  # before the imports

from nomad_stateful.plugin_server.server import serve
from nomad_stateful.provider.plugin import NomadCsiPlugin


def run() -> None:
    """Serves until the engine is done."""
    serve(NomadCsiPlugin())


if __name__ == "__main__":
    run()
