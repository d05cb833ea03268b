"""Restores to a point in time: a snapshot, and the binary logs from there on."""
