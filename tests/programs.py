"""Programs of a few lines that stand in for others."""

from pathlib import Path


def make_program(path: Path, text: str) -> Path:
    """Writes a script that can be run, with its folders; it is the shell's where the first line does not say whose."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
