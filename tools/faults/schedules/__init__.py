"""Schedules of faults, changes and commands, drawn by seed, two at a time too, under a judged history."""
