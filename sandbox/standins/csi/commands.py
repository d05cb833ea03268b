"""The one place that runs programs: mount, mkfs and the like, each with a deadline."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sandbox.standins.csi import logs

_SYSTEM_PATH: Final = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


class CommandError(Exception):
    """A program failed, took too long, or is not installed."""


@dataclass(frozen=True)
class Result:
    """How a program ended; `output` is its stdout and stderr together."""

    code: int
    output: str


def run(argv: Sequence[str], *, timeout_s: float, ok: Sequence[int] = (0,)) -> Result:
    """Runs a program; CommandError unless it ends in time with a code of `ok`."""
    # An orchestrator may start the driver with a PATH that lacks the system's sbin folders.
    path = f"{os.environ.get('PATH', '')}:{_SYSTEM_PATH}".strip(":")
    environment = {**os.environ, "PATH": path, "LC_ALL": "C"}
    logs.info("Running command", level=5, argv=" ".join(argv))
    try:
        done = subprocess.run(
            list(argv),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        raise CommandError(f"{' '.join(argv)}: not finished after {timeout_s:.0f} s, stopped") from None
    except FileNotFoundError:
        raise CommandError(f"{argv[0]} is not installed on this node") from None
    except OSError as error:
        raise CommandError(f"{argv[0]} cannot be run: {error}") from None
    output = done.stdout.decode(errors="replace").strip()
    if done.returncode not in ok:
        raise CommandError(f"{' '.join(argv)}: exit status {done.returncode}: {output or 'no output'}")
    return Result(done.returncode, output)
