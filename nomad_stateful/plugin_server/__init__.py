"""A small resource-provider framework on Pulumi's raw gRPC protocol: synchronous, threaded, quick to start."""
