"""`python -m sandbox.standins.plugins.aws`: the plugin's process, started by the Pulumi engine."""

# ruff: noqa: E402

from nomad_stateful.garbage import collect_rarely

collect_rarely()  # before the imports

from nomad_stateful.plugin_server.server import serve
from sandbox.standins.plugins.aws.plugin import AwsPlugin

if __name__ == "__main__":
    serve(AwsPlugin())
