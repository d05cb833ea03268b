"""How a sandbox and the folder that holds it go."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tools.trial.running import Running


def remove(running: Running, folder: Path, say: Callable[[str], None]) -> None:
    """Takes the sandbox down and removes the folder; keeps it where something may still be mounted below."""
    if Path(running.python).exists():
        down = running.sandbox("down", "--force")
        if down.returncode != 0:
            say(f"kept {folder}: the sandbox in it could not be taken down:\n{down.stderr.strip()}")
            return
    # Go writes its modules read-only.
    subprocess.run(["chmod", "-R", "u+w", str(folder)], check=False)
    shutil.rmtree(folder, ignore_errors=True)
