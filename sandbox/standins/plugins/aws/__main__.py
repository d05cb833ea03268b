"""`python -m sandbox.standins.plugins.aws`: the plugin's process, started by the Pulumi engine."""

# ruff: noqa: E402

from provider.garbage import collect_rarely

collect_rarely()  # before the imports

from provider.rpc.server import serve
from sandbox.standins.plugins.aws.plugin import AwsPlugin

if __name__ == "__main__":
    serve(AwsPlugin())
