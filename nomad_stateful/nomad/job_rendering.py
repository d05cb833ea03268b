"""Job files as Nomad itself reads them: by its command line, which needs no cluster for that."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

Job = dict[str, Any]
"""A job as Nomad's HTTP API has it."""

_KEPT_ENV: Final = ("PATH", "HOME", "TMPDIR")
_TIMEOUT_S: Final = 60
_MASKED_FROM_CHARS: Final = 6


class RenderError(Exception):
    """A job file cannot be rendered; its text is Nomad's reason, without the values of variables."""


def render(nomad: str | Path, text: str, variables: Mapping[str, str] | None = None, *options: str) -> Job:
    """Returns the job in the text of a job file; `options` go to `nomad job run`, such as -json.

    Variables go by the environment, which is shown to nobody else: Nomad treats them as -var does, but ignores those
    that the file does not declare.

    Raises:
        RenderError: Nomad refuses it, does not end within a minute, or cannot be run.
    """
    values = dict(variables or {})
    # Nothing else of ours is passed on, so that a job file cannot take it up.
    env = {name: os.environ[name] for name in _KEPT_ENV if name in os.environ}
    env |= {"NOMAD_CLI_NO_COLOR": "1", **{f"NOMAD_VAR_{name}": value for name, value in values.items()}}
    command = [str(nomad), "job", "run", "-output", *options, "-"]
    try:
        done = subprocess.run(
            command, input=text, env=env, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise RenderError(f"nomad did not parse it within {_TIMEOUT_S} s") from None
    except OSError as error:
        raise RenderError(f"{command[0]} could not be run: {error.strerror}") from None
    if done.returncode != 0:
        raise RenderError(_reason(done.stderr or done.stdout or "nomad failed", list(values.items())))
    job = json.loads(done.stdout).get("Job")
    if not isinstance(job, dict):
        raise RenderError("input is not a valid Nomad jobspec")
    return job


def _reason(said: str, variables: Sequence[tuple[str, str]]) -> str:
    """Returns Nomad's message without the words around it and the values of variables."""
    _, _, rest = said.partition("Error parsing job file from -:")
    text = (rest or said.removeprefix("Error getting job struct: ")).strip()
    for name, value in variables:
        if len(value) >= _MASKED_FROM_CHARS:
            text = text.replace(value, f"(value of {name})")
    return text
