"""The audit of dependencies."""
