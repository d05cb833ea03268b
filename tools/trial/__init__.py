"""A stack in a sandbox of its own, driven by the commands that users run: what tests, faults and benchmarks share."""
