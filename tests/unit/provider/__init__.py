"""Unit tests of the nomad-csi provider and of the framework it stands on."""
