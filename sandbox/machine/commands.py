"""Running the machine's own tools (ip, losetup, nsenter, ...)."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sandbox.machine.errors import CloudError


def run(*argv: str | Path, stdin: str = "", timeout_s: float = 30.0) -> str:
    """Runs a tool and returns what it printed.

    Raises:
        CloudError: it is missing, failed (its own words are in the message) or did not end in time.
    """
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False)
    except FileNotFoundError as error:
        raise CloudError(
            f"the command {words[0]} is not installed on this machine; install it and try again"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise CloudError(f"`{' '.join(words)}` did not end within {timeout_s:.0f} s") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
        raise CloudError(f"`{' '.join(words)}` failed: {said}")
    return done.stdout
