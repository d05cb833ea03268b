"""Tests of the fault runner, and a short run of it."""
