"""Job files rendered by the nomad command itself, which needs no cluster for that."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Final

from tools.preview_report.jobs import Render, RenderError

_TIMEOUT_S: Final = 60


def renderer(nomad: Path) -> Render:
    """Renders with `nomad job run -output`."""

    def render(text: str, variables: dict[str, str]) -> dict[str, Any]:
        # Variables go by the environment: it treats their text as -var does, and a command line is for all to read.
        # Nothing else of ours is passed on, so that a job file cannot take it up.
        environment = {"PATH": os.environ.get("PATH", os.defpath)}
        environment |= {f"NOMAD_VAR_{key}": value for key, value in variables.items()}
        try:
            done = subprocess.run(
                [str(nomad), "job", "run", "-output", "-"],
                input=text,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RenderError(str(error)) from None
        if done.returncode != 0:
            raise RenderError(" ".join((done.stderr or done.stdout).split())[:500])
        return dict(json.loads(done.stdout)["Job"])

    return render
