"""Planted defects: how much the suites would notice (docs/planted.md)."""
