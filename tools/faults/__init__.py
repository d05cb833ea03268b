"""Faults on a running stack: injected by a seeded plan, each followed by the command a user repeats, and by checks."""
