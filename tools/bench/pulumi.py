"""Pulumi's command line as a contender: our program, or the plain one."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from sandbox.settings import STACK
from tools.bench.rig import Rig

_UP_TIMEOUT_S = 300.0
_DESTROY_TIMEOUT_S = 150.0
_ENDING_S = 40.0


class Failed(Exception):
    """A command failed; the message fits into a table."""


class Pulumi:
    """A program and its stack in the sandbox's own state. Each call raises Failed."""

    def __init__(self, name: str, rig: Rig, folder: Path, stack: str) -> None:
        self.name = name
        self._rig = rig
        self._folder = folder
        self._stack = stack

    def up(self) -> None:
        """Without the preview, which is measured on its own."""
        self.run("up", "--yes", "--skip-preview", timeout_s=_UP_TIMEOUT_S)

    def preview(self) -> None:
        """Shows what would be done."""
        self.run("preview", timeout_s=60)

    def destroy(self) -> None:
        """Until the command ends; interrupted when it does not."""
        self.run("destroy", "--yes", "--skip-preview", timeout_s=_DESTROY_TIMEOUT_S)

    def forget(self) -> None:
        """Finds out by a refresh that nothing is there: everything was taken away by hand."""
        self.run("cancel", "--yes", timeout_s=60)
        self.run("destroy", "--yes", "--skip-preview", "--refresh", timeout_s=_DESTROY_TIMEOUT_S)

    def run(self, *words: str, timeout_s: float) -> str:
        """A command of Pulumi; its output. Raises Failed with the last error it printed."""
        command = ["pulumi", *words, "--stack", self._stack, "--non-interactive", "--color", "never"]
        # A group of its own, so that the plugins hear of an interrupt as they would in a terminal.
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env=self._rig.running.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            output = _end(process)
            raise Failed(f"pulumi {words[0]} not finished after {timeout_s:.0f} s{_reason(output)}") from None
        except BaseException:
            _end(process)
            raise
        if process.returncode != 0:
            raise Failed(f"pulumi {words[0]} failed{_reason(output)}")
        return output


def ours(rig: Rig) -> Pulumi:
    """This project's program with the stack that the sandbox has."""
    return Pulumi("ours", rig, rig.running.project, STACK)


class Plain(Pulumi):
    """The program in tools/bench/plain, as the providers' documentation shows it, with a stack of the same name."""

    def __init__(self, rig: Rig) -> None:
        super().__init__("plain", rig, rig.running.project / "tools/bench/plain", "plain")

    def prepare(self) -> None:
        """Makes its stack."""
        self.run("stack", "select", "--create", timeout_s=60)

    def forget(self) -> None:
        """Drops the stack and makes it anew."""
        self.run("cancel", "--yes", timeout_s=60)
        self.run("stack", "rm", "--yes", "--force", "--preserve-config", timeout_s=60)
        self.prepare()


def _end(process: subprocess.Popen[str]) -> str:
    os.killpg(process.pid, signal.SIGINT)
    try:
        return process.communicate(timeout=_ENDING_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


def _reason(output: str) -> str:
    """The last line that says what went wrong, short enough for a table."""
    errors = [line.strip() for line in output.splitlines() if "error:" in line.lower()]
    found = next((line for line in errors if "VolumeInUse" in line), errors[-1] if errors else "")
    return f": {found[:160]}" if found else ""
