"""The Pulumi stack of the sandbox, driven through Pulumi's own command line."""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sandbox.machine import processes
from sandbox.machine.orphans import end_orphans
from sandbox.machine.private_files import read_text, write_private
from sandbox.settings import PROJECT, SandboxError, SandboxSettings, usage
from sandbox.stack import project
from sandbox.stack.environment import passphrase_file, process_environment, state_dir
from sandbox.stack.stack_file import project_name, put_salt, read_salt
from tools.toolchain import Toolchain

_INTERRUPT_TIMEOUT_S: Final = 90.0


def config_file(stack: str, folder: Path = PROJECT) -> Path:
    """A stack's configuration in the project's folder."""
    return folder / f"Pulumi.{stack}.yaml"


def salt_file(settings: SandboxSettings, stack: str) -> Path:
    """Where the salt is kept that a stack has in this sandbox."""
    return settings.home / f"pulumi-salt-{stack}"


def prepare_backend(settings: SandboxSettings) -> None:
    """Makes the folder of Pulumi's state and the passphrase of what is secret in it, for every stack in there."""
    state_dir(settings).mkdir(mode=0o700, parents=True, exist_ok=True)
    if not read_text(passphrase_file(settings)):
        write_private(passphrase_file(settings), f"{secrets.token_urlsafe(32)}\n")
    for sidecar in state_dir(settings).rglob("*.attrs"):
        # Of a sandbox that wrote them still, cut off while it did: the state itself is whole.
        if not sidecar.stat().st_size:
            sidecar.unlink()


def stacks_in_state(settings: SandboxSettings) -> list[tuple[str, str]]:
    """Project and name of every stack that the sandbox's state knows."""
    found = (state_dir(settings) / ".pulumi" / "stacks").glob("*/*")
    # Compressed where PULUMI_DIY_BACKEND_GZIP was set at the last update.
    names = {(path.parent.name, path.name.removesuffix(".gz")) for path in found}
    return sorted((owner, name.removesuffix(".json")) for owner, name in names if name.endswith(".json"))


class StackError(SandboxError):
    """Pulumi could not do what was asked; its own output is above."""


@dataclass(frozen=True)
class Update:
    """What an update did: number of resources by operation (`same`, `create`, `update`, `delete`...)."""

    operations: dict[str, int]

    @property
    def changed(self) -> bool:
        """Whether anything but `same` was done."""
        return any(number for name, number in self.operations.items() if name != "same")


@dataclass(frozen=True)
class Recovery:
    """What was found of an interrupted run: sentences about it, and the operations it was in the middle of."""

    said: list[str]
    cut_off: list[dict[str, Any]]


class Stack:
    """One stack of the program in the sandbox's own state."""

    def __init__(self, settings: SandboxSettings, toolchain: Toolchain, name: str, folder: Path = PROJECT) -> None:
        self.name = name
        self._project = folder
        self._settings = settings
        self._pulumi = toolchain.pulumi
        self._bin_dir = toolchain.bin_dir

    def ensure(self) -> bool:
        """Makes the backend and the stack and selects it; says whether the stack is new.

        Raises:
            ProjectError: there is no such stack's file, or it holds secrets of another stack.
        """
        project.require(self.config_file, read_text(self._salt_file))
        prepare_backend(self._settings)
        exists = self.exists() and self._salt_file.is_file()
        if not exists:
            self._init()
        put_salt(self.config_file, read_text(self._salt_file))
        self._call("stack", "select", self.name)
        return not exists

    @property
    def config_file(self) -> Path:
        """The stack's configuration, a committed file."""
        return config_file(self.name, self._project)

    @property
    def _salt_file(self) -> Path:
        return salt_file(self._settings, self.name)

    def _init(self) -> None:
        """Makes the stack with a passphrase of its own, from a copy: Pulumi would rewrite the committed file.

        See docs/decisions/2026-11-21-sandbox-state.md.
        """
        with tempfile.TemporaryDirectory(dir=self._settings.home) as folder:
            copy = Path(folder) / self.config_file.name
            for path in (self._project / "Pulumi.yaml", self.config_file):
                shutil.copy(path, folder)
            put_salt(copy, "")
            if self.exists():
                self._call("stack", "rm", self.name, "--yes", "--force", folder=Path(folder))
            self._call("stack", "init", self.name, folder=Path(folder))
            write_private(self._salt_file, read_salt(copy))

    def exists(self) -> bool:
        """Whether there is a state of this stack."""
        return any(name == self.name for _, name in stacks_in_state(self._settings))

    def recover(self) -> Recovery:
        """Ends what an interrupted run left: its processes, its lock, its pending operations.

        Raises:
            StackError: a pulumi that is alive is changing the stack.
        """
        said = self._end_earlier_run()
        locks = self._locks()
        for lock in locks:
            holder = lock_holder(lock)
            if holder:
                raise StackError(
                    f"The stack {self.name} is being changed by another pulumi (pid {holder}). "
                    "Wait until it has ended, then run this again."
                )
        if locks:
            self._call("cancel", "--yes", "--stack", self.name)
            said.append("removed the lock of a pulumi that is gone")
        cut_off = self._drop_pending()
        if cut_off:
            names = ", ".join(sorted(f"{item['type']} {item['resource']['urn'].split('::')[-1]}" for item in cut_off))
            said.append(f"forgot operations that were cut off: {names}")
        return Recovery(said, cut_off)

    def up(self, *, refresh: bool) -> Update:
        """Runs `pulumi up`, showing its output.

        Raises:
            StackError: it failed.
        """
        words = ["up", "--yes", "--skip-preview", "--suppress-outputs", *(["--refresh"] if refresh else [])]
        if self._show(*words) != 0:
            raise StackError(
                f"pulumi up failed: its output is above. The sandbox runs on: fix the cause and run `{usage.UP}` again."
            )
        history = json.loads(self._call("stack", "history", "--json", "--page-size", "1", "--stack", self.name))
        return Update(dict((history[0].get("resourceChanges") or {}) if history else {}))

    def destroy(self, *, refresh: bool = False) -> None:
        """Runs `pulumi destroy`, showing its output, and removes the stack.

        A destroy that was cut off has to `refresh`: the nomad plugin does not delete what is gone already. Where
        something is protected the engine previews first: without that it deletes what uses it before it refuses.

        Raises:
            StackError: it failed.
        """
        at_once = [] if any(one.get("protect") for one in self.resources()) else ["--skip-preview"]
        words = ["destroy", "--yes", *at_once, "--suppress-outputs", *(["--refresh"] if refresh else [])]
        if self._show(*words) != 0:
            raise StackError(
                f"pulumi destroy failed: its output is above. Fix the cause and run `{usage.DOWN}` again, or drop the "
                f"sandbox with everything in it: `{usage.FORCE_DOWN}`."
            )

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs; secret ones are masked."""
        return dict(json.loads(self._call("stack", "output", "--json", "--stack", self.name) or "{}"))

    def resources(self) -> list[dict[str, Any]]:
        """The resources in the state, without the stack itself."""
        deployment = self._export().get("deployment") or {}
        return [item for item in deployment.get("resources") or [] if item["type"] != "pulumi:pulumi:Stack"]

    def _export(self) -> dict[str, Any]:
        return dict(json.loads(self._call("stack", "export", "--stack", self.name)))

    def others(self) -> dict[str, int]:
        """How many resources each other stack of this state has, by its name."""
        listed = json.loads(self._call("stack", "ls", "--all", "--json"))
        counts = {item["name"].removeprefix("organization/"): item.get("resourceCount") or 0 for item in listed}
        own = (self.name, f"{project_name(self._project)}/{self.name}")
        # One is the stack itself.
        return {name: count for name, count in counts.items() if count > 1 and name not in own}

    def _locks(self) -> list[Path]:
        return sorted((state_dir(self._settings) / ".pulumi" / "locks").glob(f"**/{self.name}/*.json"))

    def _drop_pending(self) -> list[dict[str, Any]]:
        exported = self._export()
        pending = list((exported.get("deployment") or {}).get("pending_operations") or [])
        if pending:
            exported["deployment"]["pending_operations"] = []
            self._call("stack", "import", "--stack", self.name, stdin=json.dumps(exported))
        return pending

    def _end_earlier_run(self) -> list[str]:
        said = []
        record = processes.read_record(self._pid_file)
        # Asked politely, pulumi finishes the step it is in and writes its state.
        if record is not None and processes.stop_process(record, timeout_s=_INTERRUPT_TIMEOUT_S):
            said.append(f"ended the pulumi of an earlier run (pid {record.pid})")
        ended = end_orphans(self._settings)
        if ended:
            said.append(f"ended {ended} process{'' if ended == 1 else 'es'} that a killed pulumi left")
        return said

    @property
    def _pid_file(self) -> Path:
        return self._settings.run_dir / "pulumi.pid"

    def _environment(self) -> dict[str, str]:
        return process_environment(self._settings, self._bin_dir)

    def _call(self, *words: str, stdin: str = "", folder: Path | None = None) -> str:
        done = subprocess.run(
            [str(self._pulumi), *words, "--non-interactive"],
            cwd=folder or self._project,
            env=self._environment(),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise StackError(f"`pulumi {' '.join(words)}` failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def _show(self, *words: str) -> int:
        command = [str(self._pulumi), *words, "--non-interactive", "--color", "auto", "--stack", self.name]
        process = subprocess.Popen(command, cwd=self._project, env=self._environment(), stdin=subprocess.DEVNULL)
        record = processes.identify(process.pid)
        if record is not None:
            processes.write_record(self._pid_file, record)
        with _passing_on_interrupts(process) as interrupted:
            status = process.wait()
        if status != 0 and interrupted.is_set():
            raise KeyboardInterrupt
        return status


@contextlib.contextmanager
def _passing_on_interrupts(process: subprocess.Popen[bytes]) -> Iterator[threading.Event]:
    """While pulumi works, a request to end goes to it, and we wait for it to end. Gives whether there was one."""
    interrupted = threading.Event()

    def note(*_: object) -> None:
        # A terminal sends its interrupt to pulumi too, as it is in our group.
        interrupted.set()

    def pass_on(*_: object) -> None:
        interrupted.set()
        process.send_signal(signal.SIGINT)

    before = {signal.SIGINT: signal.signal(signal.SIGINT, note), signal.SIGTERM: signal.signal(signal.SIGTERM, pass_on)}
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def lock_holder(lock: Path) -> int:
    """The pid of the pulumi that holds a lock, 0 when it is gone, also where nobody has waited for it yet."""
    try:
        pid = int(json.loads(lock.read_text(encoding="utf-8"))["pid"])
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except (OSError, ValueError, KeyError, TypeError):
        return 0
    return pid if name == "pulumi" and processes.start_time(pid) is not None else 0
