"""`python -m sandbox.plugins.aws`: the plugin's process, started by the Pulumi engine."""

import gc

gc.set_threshold(200_000, 30, 30)  # what is imported stays: looking for garbage there is a tenth of the start

from provider.rpc.server import serve
from sandbox.plugins.aws.plugin import AwsPlugin

if __name__ == "__main__":
    serve(AwsPlugin())
