"""`python -m tools.preview_change`: what this clone's change would do to a stack made by the branch it is based on.

Both are done in a sandbox of their own, so the one that may run here, and the clone, stay as they are.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sandbox.settings import CONFIG_VARIABLE, HOME_VARIABLE, PROJECT, SandboxError
from sandbox.stack.stack_file import put_salt, read_salt
from tools.trial.commit import CommitError, export, provide_environment

NAME: Final = "nspr"
SUBNET: Final = "10.173.87.0/24"
STACK: Final = "dev"
_BASES: Final = ("origin/main", "main", "origin/HEAD")
_SHOWN_LINES: Final = 25


class CompareError(SandboxError):
    """The comparison cannot be made."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the report on the change, with the arguments that are not for us; its exit status, or 2 without a report."""
    parser = argparse.ArgumentParser(prog="python -m tools.preview_change", description=main.__doc__)
    parser.add_argument(
        "--base", default="", help=f"branch or commit to compare with (default: {_BASES[0]} or {_BASES[1]})"
    )
    parser.add_argument("--name", default=NAME, help=f"name of the sandbox (default: {NAME})")
    parser.add_argument("--subnet", default=SUBNET, help=f"its addresses (default: {SUBNET})")
    parser.add_argument("--output", type=Path, help="write the report here instead of printing it")
    arguments, report = parser.parse_known_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        commit = merge_base(arguments.base)
        config = f'name = "{arguments.name}"\nsubnet = "{arguments.subnet}"\n'
        return _compare(
            commit, config, [*report, *(["--output", str(arguments.output.absolute())] if arguments.output else [])]
        )
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
        done = _git("merge-base", "HEAD", name)
        if done.returncode == 0:
            return done.stdout.decode().strip()
    raise CompareError(
        f"base is {base or ' or '.join(_BASES)}: no such branch here, or its history is not. "
        "Fetch it, or name another: make preview-report BASE=<branch>"
    )


def export_working_tree(folder: Path) -> None:
    """The files of the clone as they are now, those included that git does not know yet and does not ignore."""
    listed = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout.decode()
    for name in filter(None, listed.split("\0")):
        source = PROJECT / name
        if source.is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name)


def _compare(commit: str, config: str, report: Sequence[str]) -> int:
    folder = Path(tempfile.mkdtemp(prefix="preview-change-"))
    base, change = folder / "base", folder / "change"
    removed = True
    try:
        base.mkdir()
        change.mkdir()
        export(commit, base)
        export_working_tree(change)
        (base / "sandbox.toml").write_text(config, encoding="utf-8")
        (change / ".venv").symlink_to(PROJECT / ".venv")
        provide_environment(base)
        try:
            _sandbox("bringing up the stack of the base", base, "up")
            put_salt(change / f"Pulumi.{STACK}.yaml", read_salt(base / f"Pulumi.{STACK}.yaml"))
            return _report(base, change, report)
        finally:
            removed = False
            _sandbox("removing the sandbox", base, "down", "--force")
            removed = True
    finally:
        # What is needed to stop the sandbox is kept for as long as it runs.
        if removed:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            _say(f"warning: the sandbox may still run: `cd {base} && .venv/bin/python -m sandbox down --force`")


def _sandbox(what: str, project: Path, *words: str) -> None:
    """`python -m sandbox …` of a project; its output is shown if it fails."""
    _say(f"preview-report: {what}")
    command = [str(project / ".venv/bin/python"), "-m", "sandbox", *words]
    done = subprocess.run(command, cwd=project, env=_clean(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-_SHOWN_LINES:])
        raise CompareError(f"{what}: `python -m sandbox {' '.join(words)}` failed:\n{last}")


def _say(line: str) -> None:
    # Whoever read this may have gone, as `head` does; what was started is removed all the same.
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def _report(base: Path, change: Path, report: Sequence[str]) -> int:
    _say("preview-report: previewing the change")
    # The report is the change's own; what it previews against is the base's.
    script = '. "$1/.sandbox/env" && shift && exec "$@"'
    python = str(change / ".venv/bin/python")
    command = ["sh", "-c", script, "sh", str(base), python, "-m", "tools.preview_report", "--stack", STACK, *report]
    return subprocess.run(command, cwd=change, env=_clean(), check=False).returncode


def _clean() -> dict[str, str]:
    """The caller's environment without what points at another sandbox or at a real account."""
    hidden = ("AWS_", "NOMAD_", "PULUMI_", HOME_VARIABLE, CONFIG_VARIABLE, "PYTHONPATH")
    kept = ("NOMAD_STATEFUL_TOOLCHAIN",)
    return {key: value for key, value in os.environ.items() if key in kept or not key.startswith(hidden)}


def _git(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *words], cwd=PROJECT, capture_output=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
