"""`python -m tools.preview_change`: what this clone's change would do to a stack made by the branch it is based on.

Both are done in a sandbox of their own, so the one that may run here, and the clone, stay as they are.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

from sandbox.settings import STACK, SandboxError
from sandbox.stack.stack_file import put_salt, read_salt
from tools.trial.commit import CommitError, export, provide_environment
from tools.trial.ground import Ground
from tools.trial.running import PROJECT, Running, copy_project

NAME: Final = "nspr"
SUBNET: Final = IPv4Network("10.173.87.0/24")
_BASES: Final = ("origin/main", "main", "origin/HEAD")
_SHOWN_LINES: Final = 25
# With the building of the toolchain.
_TIMEOUT_S: Final = 3600.0


class CompareError(SandboxError):
    """The comparison cannot be made."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the report on the change, with the arguments that are not for us; its exit status, or 2 without a report."""
    parser = argparse.ArgumentParser(prog="python -m tools.preview_change", description=main.__doc__)
    parser.add_argument(
        "--base", default="", help=f"branch or commit to compare with (default: {_BASES[0]} or {_BASES[1]})"
    )
    parser.add_argument("--name", default=NAME, help=f"name of the sandbox (default: {NAME})")
    parser.add_argument("--subnet", type=IPv4Network, default=SUBNET, help=f"its addresses (default: {SUBNET})")
    parser.add_argument("--output", type=Path, help="write the report here instead of printing it")
    arguments, report = parser.parse_known_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        commit = merge_base(arguments.base)
        output = ["--output", str(arguments.output.absolute())] if arguments.output else []
        return _compare(commit, Ground(arguments.name, arguments.subnet), [*report, *output])
    except (SandboxError, CommitError, OSError, subprocess.SubprocessError) as error:
        print(f"error: no report: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def merge_base(base: str) -> str:
    """The commit at which this change left its base.

    Raises:
        CompareError: there is no such branch.
    """
    for name in (base,) if base else _BASES:
        words = ["git", "merge-base", "HEAD", name]
        done = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
    raise CompareError(
        f"base is {base or ' or '.join(_BASES)}: no such branch here, or its history is not. "
        "Fetch it, or name another: make preview-report BASE=<branch>"
    )


def _compare(commit: str, ground: Ground, report: Sequence[str]) -> int:
    folder = Path(tempfile.mkdtemp(prefix="preview-change-"))
    base, change = folder / "base", folder / "change"
    removed = True
    try:
        base.mkdir()
        export(commit, base)
        copy_project(change)
        provide_environment(base)
        running = Running.of(base, ground)
        try:
            _sandbox("bringing up the stack of the base", running, "up")
            running.enter_env()
            put_salt(change / f"Pulumi.{STACK}.yaml", read_salt(base / f"Pulumi.{STACK}.yaml"))
            _say("preview-report: previewing the change")
            # The report is the change's own; what it previews against is the base's.
            command = [str(change / ".venv/bin/python"), "-m", "tools.preview_report", "--stack", STACK, *report]
            return subprocess.run(command, cwd=change, env=running.env, check=False).returncode
        finally:
            removed = False
            _sandbox("removing the sandbox", running, "down", "--force")
            removed = True
    finally:
        # What is needed to stop the sandbox is kept for as long as it runs.
        if removed:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            _say(f"warning: the sandbox may still run: `cd {base} && .venv/bin/python -m sandbox down --force`")


def _sandbox(what: str, running: Running, *words: str) -> None:
    """`python -m sandbox …` of a project; its output is shown if it fails."""
    _say(f"preview-report: {what}")
    done = running.sandbox(*words, timeout_s=_TIMEOUT_S)
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-_SHOWN_LINES:])
        raise CompareError(f"{what}: `python -m sandbox {' '.join(words)}` failed:\n{last}")


def _say(line: str) -> None:
    # Whoever read this may have gone, as `head` does; what was started is removed all the same.
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
