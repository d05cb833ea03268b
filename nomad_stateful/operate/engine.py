"""Pulumi's engine, driven for the chosen stack: its settings and `pulumi up`, also after a kill of either."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nomad_stateful.operate import engine_locks, project, stack
from nomad_stateful.operate.engine_locks import Started
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.resource_types import PROVIDERS, STACK

_LAST_LINES = 60
_UNCHANGED = frozenset({"same", "read", "refresh", "discard"})


class EngineError(OperateError):
    """Pulumi refused or failed; its own output is above, or in the text."""


class StackLockedError(EngineError):
    """Another pulumi works on the stack, or left its lock; this command did nothing."""


@dataclass(frozen=True)
class Change:
    """One resource that a preview would change."""

    op: str
    type: str
    name: str
    inputs: Mapping[str, Any] = field(compare=False)


def other_changes(engine: "Engine", values: Mapping[str, str], agreed: Sequence[Change]) -> str:
    """Returns what to say where an update would change something else by now than was agreed to, "" where not.

    Raises EngineError.
    """
    if engine.changes(values) == [*agreed]:
        return ""
    return (
        "the stack's changes are others than before the question: somebody else changes it. Nothing was changed. Run "
        "the same command again after that"
    )


class Engine:
    """One stack's settings, state and updates. What an update prints goes to standard error as it comes."""

    def __init__(self, name: str) -> None:
        self._name = name

    def config(self) -> dict[str, Any]:
        """Returns the settings by whole keys, as they are now; secret ones are masked. Raises EngineError."""
        return stack.whole_keys(json.loads(self._call("config", "--json")))

    def set(self, values: Mapping[str, str], *options: str) -> None:
        """Writes settings by their paths, all at once. Raises EngineError."""
        words = [word for path, value in values.items() for word in ("--plaintext", f"{path}={value}")]
        self._call("config", "set-all", "--path", *words, *options)

    def remove(self, path: str) -> None:
        """Removes a setting by its path. Raises EngineError."""
        self._call("config", "rm", "--path", path)

    def state(self) -> dict[str, Any]:
        """Returns the state as it is now: its resources and pending operations. Raises EngineError."""
        return stack.state_of(json.loads(self._call("stack", "export")))

    def pending(self) -> str:
        """Returns what a preview would change, "" if nothing. Raises EngineError where the preview fails."""
        done = self._run("preview", "--expect-no-changes", "--diff=false")
        if done.returncode == 0:
            return ""
        text = (done.stdout + done.stderr).strip()
        if "no changes were expected" not in text:
            raise EngineError(f"`pulumi preview` fails:\n{text}")
        return text if self.changes({}) else ""

    def refuse_failing(self, values: Mapping[str, str]) -> None:
        """Previews other settings, by their paths, without writing them. Raises EngineError where that fails."""
        with self._copied(values) as copy:
            done = self._run("preview", "--diff=false", "--config-file", str(copy))
        if done.returncode != 0:
            raise EngineError(f"it would be refused, so nothing is stopped:\n{(done.stdout + done.stderr).strip()}")

    def changes(self, values: Mapping[str, str]) -> list[Change]:
        """Returns what an update with other settings, by their paths, would change. Raises EngineError.

        Sorted, since the engine's order varies. Without the connections of providers: a token that is issued anew is
        not a change of the stack.
        """
        with self._copied(values) as copy:
            said = json.loads(self._call("preview", "--json", "--config-file", str(copy)))
        changes = [_change(step) for step in said.get("steps") or [] if step["op"] not in _UNCHANGED]
        own = (one for one in changes if not one.type.startswith(PROVIDERS))
        return sorted(own, key=lambda one: (one.type, one.name, one.op))

    def refuse_locked(self) -> None:
        """Raises StackLockedError where another pulumi has the stack's lock.

        Backends tell of a lock only to a command that takes it: this one refreshes the stack's own resource, in which
        nothing can change.
        """
        urn = next((str(one["urn"]) for one in self.state().get("resources") or [] if one["type"] == STACK), "")
        if urn:
            self._update("refresh", "--yes", "--skip-preview", "--target", urn, show=False)

    def up(self, why: str, *, refresh: bool) -> None:
        """Runs `pulumi up`; of an earlier one that was killed it first ends what is left.

        Raises StackLockedError at once where another pulumi has the lock, and EngineError.
        """
        print(f"==> pulumi up: {why}", file=sys.stderr, flush=True)
        if self.state().get("pending_operations"):
            # What was interrupted is looked for by the program: a volume is adopted by its guard.
            self._update("refresh", "--yes", "--skip-preview", "--clear-pending-creates")
        self._update("up", "--yes", "--skip-preview", *(["--refresh"] if refresh else []))

    def _update(self, *words: str, show: bool = True) -> None:
        """Runs a command that takes the stack's lock. Raises StackLockedError and EngineError."""
        status, said = self._run_locking(words, show=show)
        if status != 0 and self._remove_left_locks(engine_locks.found(said)):
            status, said = self._run_locking(words, show=show)
        if status == 0:
            return
        if locks := engine_locks.found(said):
            raise StackLockedError(
                f"the stack is locked by {', '.join(one.said for one in locks)}: another pulumi works on it. Run the "
                "same command again when that has ended; if it is gone for certain, `pulumi cancel` removes its lock"
            )
        why = "its output is above" if show else said.strip()
        raise EngineError(f"`pulumi {words[0]}` failed: {why}. Fix the cause and run the same command to resume")

    def _remove_left_locks(self, locks: Sequence[engine_locks.Lock]) -> bool:
        """Removes locks if each is of a pulumi that this user's commands started here and that is gone."""
        ours = {lock: one for lock in locks for one in engine_locks.noted(self._name) if one.left(lock)}
        if not locks or len(ours) < len(locks):
            return False
        # Of two commands the one that takes the note cancels: the other might cancel the lock of what comes next.
        if sum(one.forget() for one in ours.values()) < len(locks):
            return False
        print("    removing the lock of a pulumi that this command started and that is gone", file=sys.stderr)
        self._call("cancel", "--yes")
        return True

    @contextmanager
    def _copied(self, values: Mapping[str, str]) -> Iterator[Path]:
        """Gives a copy of the stack's file with other settings, and removes it."""
        own = project.settings_file(self._name)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / own.name
            shutil.copy2(own, copy)
            self.set(values, "--config-file", str(copy))
            yield copy

    def _run_locking(self, words: Sequence[str], *, show: bool) -> tuple[int, str]:
        """Returns the exit status and the last lines, which may be shown as they come; notes the process meanwhile."""
        last: deque[str] = deque(maxlen=_LAST_LINES)
        with subprocess.Popen(
            self._command([*words, "--suppress-outputs"]),
            cwd=project.folder(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            started = Started.of(self._name, process.pid)
            started.note()
            for line in process.stdout or ():
                if show:
                    print(f"    {line.rstrip()}", file=sys.stderr, flush=True)
                last.append(line)
        # One that was killed could not remove its lock: the note is for the next command.
        if process.returncode >= 0:
            started.forget()
        return process.returncode, "".join(last)

    def _call(self, *words: str) -> str:
        done = self._run(*words)
        if done.returncode != 0:
            raise EngineError(f"`pulumi {' '.join(words)}` failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = self._command(words)
        return subprocess.run(command, cwd=project.folder(), capture_output=True, text=True, check=False)

    def _command(self, words: Sequence[str]) -> list[str]:
        return ["pulumi", *words, "--non-interactive", "--stack", self._name]


def _change(step: Mapping[str, Any]) -> Change:
    state = step.get("newState") or step.get("oldState") or {}
    urn = str(step.get("urn") or "")
    return Change(str(step["op"]), str(state.get("type") or ""), urn.rpartition("::")[2], state.get("inputs") or {})
