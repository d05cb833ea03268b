"""The commands of `python -m sandbox`, one per file."""
