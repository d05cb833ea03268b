"""Conformance of the provider plugins: driven over gRPC by the path of their executable, as the engine does it."""
