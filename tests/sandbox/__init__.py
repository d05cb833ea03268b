"""Tests on the real thing: root, namespaces, the real engine, a real Nomad."""
