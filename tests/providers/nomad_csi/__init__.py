"""Conformance of the nomad-csi plugin."""
