"""Pulumi's command line as a contender: our program, the plain one, or one with nothing in it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import yaml

from sandbox.settings import STACK
from tools.bench.contender import Failed
from tools.bench.rig import Rig

_UP_TIMEOUT_S = 300.0
_DESTROY_TIMEOUT_S = 150.0
_ENDING_S = 40.0


class Pulumi:
    """A program and its stack in the sandbox's own state."""

    def __init__(self, rig: Rig, name: str, folder: Path, stack: str) -> None:
        self.name = name
        self.stack = stack
        self._rig = rig
        self._folder = folder
        self.more_env: dict[str, str] = {}

    def up(self) -> None:
        """Without the preview, which is measured on its own."""
        self.run("up", "--yes", "--skip-preview", timeout_s=_UP_TIMEOUT_S)

    def preview(self, *words: str) -> None:
        """Shows what would be done."""
        self.run("preview", *words, timeout_s=60)

    def change(self, memory_mib: int) -> None:
        """By the program's own configuration."""
        self.configure(memory_mib)
        self.up()

    def configure(self, memory_mib: int | None) -> None:
        """MySQL's memory limit in MiB; None is what the stack's file said at first."""
        raise NotImplementedError

    def destroy(self) -> None:
        """Until the command ends; interrupted when it does not."""
        try:
            self.run("destroy", "--yes", "--skip-preview", timeout_s=_DESTROY_TIMEOUT_S)
        finally:
            self.configure(None)

    def forget(self) -> None:
        """A stack whose resources were taken away by hand."""
        raise NotImplementedError

    def run(self, *words: str, timeout_s: float) -> str:
        """A command of Pulumi; its output. Raises Failed with the last error it printed."""
        command = ["pulumi", *words, "--stack", self.stack, "--non-interactive", "--color", "never"]
        env = {**self._rig.running.env, **self.more_env}
        # A group of its own, so that the plugins hear of an interrupt as they would in a terminal.
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env=env,
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


class Ours(Pulumi):
    """This project's program with the stack that the sandbox has."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig, "ours", rig.running.project, STACK)
        self._config = rig.running.project / f"Pulumi.{STACK}.yaml"
        self._at_first = self._config.read_text(encoding="utf-8")

    def configure(self, memory_mib: int | None) -> None:
        text = self._at_first
        if memory_mib is not None:
            known = yaml.safe_load(text)
            known["config"]["nomad-stateful:mysql"]["memoryMib"] = memory_mib
            text = yaml.safe_dump(known)
        self._config.write_text(text, encoding="utf-8")

    def forget(self) -> None:
        """Finds out by a refresh that nothing is there."""
        self.run("cancel", "--yes", timeout_s=60)
        self.run("destroy", "--yes", "--skip-preview", "--refresh", timeout_s=_DESTROY_TIMEOUT_S)


class OfBench(Pulumi):
    """A program of the benchmark's own, with a stack of the same name."""

    def __init__(self, rig: Rig, name: str, program: str) -> None:
        super().__init__(rig, name, rig.running.project / "tools/bench" / program, program)

    def prepare(self) -> None:
        """Makes its stack."""
        self.run("stack", "select", "--create", timeout_s=60)

    def forget(self) -> None:
        """Drops the stack and makes it anew."""
        self.run("cancel", "--yes", timeout_s=60)
        self.run("stack", "rm", "--yes", "--force", "--preserve-config", timeout_s=60)
        self.prepare()


class Engine(OfBench):
    """The program in tools/bench/empty: the engine, its language host and the SDK, before any line of a program."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig, "engine", "empty")

    def configure(self, memory_mib: int | None) -> None:
        """There is nothing to configure."""


class Plain(OfBench):
    """The program in tools/bench/plain, as the providers' documentation shows it."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig, "plain", "plain")

    def configure(self, memory_mib: int | None) -> None:
        path = self._folder / "Pulumi.plain.yaml"
        known = yaml.safe_load(path.read_text(encoding="utf-8"))
        known["config"].pop("plain:memoryMib", None)
        if memory_mib is not None:
            known["config"]["plain:memoryMib"] = memory_mib
        path.write_text(yaml.safe_dump(known), encoding="utf-8")


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
