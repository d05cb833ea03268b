"""Tests of the pure parts of the local EC2."""
