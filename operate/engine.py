"""Pulumi's engine, driven for the chosen stack: its settings and `pulumi up`, also after a kill of either."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from operate import stack
from operate.cluster import wait_for
from operate.errors import OperateError

_LOCK = re.compile(r"created by \S+@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<since>\S+)")
_OTHER_ENDS_S = 3600.0
_LAST_LINES = 60
_UNCHANGED = frozenset({"same", "read", "refresh", "discard"})


class EngineError(OperateError):
    """Pulumi refused or failed; its own output is above, or in the text."""


@dataclass(frozen=True)
class Change:
    """One resource that a preview would change."""

    op: str
    type: str
    name: str
    inputs: Mapping[str, Any]


class Engine:
    """One stack's settings, state and updates. What an update prints goes to standard error as it comes."""

    def __init__(self, name: str) -> None:
        self._name = name

    def config(self) -> dict[str, Any]:
        """Returns the settings by whole keys, as they are now; secret ones are masked. Raises EngineError."""
        given = json.loads(self._call("config", "--json"))
        return {key: value.get("objectValue", value.get("value")) for key, value in given.items()}

    def set(self, values: Mapping[str, str]) -> None:
        """Writes settings by their paths, all at once. Raises EngineError."""
        self._set(values)

    def remove(self, path: str) -> None:
        """Removes a setting by its path. Raises EngineError."""
        self._call("config", "rm", "--path", path)

    def resources(self) -> list[dict[str, Any]]:
        """Returns the resources in the state, as it is now. Raises EngineError."""
        return list(self._deployment().get("resources") or [])

    def pending(self) -> str:
        """Returns what a preview would change, "" if nothing. Raises EngineError where the preview fails."""
        done = self._run("preview", "--expect-no-changes", "--diff=false")
        if done.returncode == 0:
            return ""
        text = (done.stdout + done.stderr).strip()
        if "no changes were expected" not in text:
            raise EngineError(f"`pulumi preview` fails:\n{text}")
        return text

    def refuse_failing(self, values: Mapping[str, str]) -> None:
        """Previews other settings, by their paths, without writing them. Raises EngineError where that fails."""
        with self._copied(values) as copy:
            done = self._run("preview", "--diff=false", "--config-file", str(copy))
        if done.returncode != 0:
            raise EngineError(f"it would be refused, so nothing is stopped:\n{(done.stdout + done.stderr).strip()}")

    def changes(self, values: Mapping[str, str]) -> list[Change]:
        """Returns what an update with other settings, by their paths, would change. Raises EngineError."""
        with self._copied(values) as copy:
            said = json.loads(self._call("preview", "--json", "--config-file", str(copy)))
        return [_change(step) for step in said.get("steps") or [] if step["op"] not in _UNCHANGED]

    def up(self, why: str, *, refresh: bool) -> None:
        """Runs `pulumi up`; of an earlier one that was killed it first ends what is left. Raises EngineError."""
        print(f"==> pulumi up: {why}", file=sys.stderr, flush=True)
        if self._deployment().get("pending_operations"):
            # What was interrupted is looked for by the program: a volume is adopted by its guard.
            self._update("refresh", "--yes", "--skip-preview", "--clear-pending-creates")
        self._update("up", "--yes", "--skip-preview", *(["--refresh"] if refresh else []))

    def _update(self, *words: str) -> None:
        """Runs a command that takes the stack's lock, and waits for it. Raises EngineError and TimedOutError."""
        status, said = self._shown(*words)
        if status != 0 and (locks := list(_LOCK.finditer(said))):
            for lock in locks:
                _await_end(lock)
            if all(_is_here(lock) for lock in locks):
                print("    removing the lock of a pulumi that is gone", file=sys.stderr, flush=True)
                # Of one that has ended by itself since, there is none any more.
                self._run("cancel", "--yes")
            status, said = self._shown(*words)
        if status != 0:
            raise EngineError(
                f"`pulumi {words[0]}` failed: its output is above. Fix the cause and run the same command again: it "
                "goes on from here"
            )

    def _set(self, values: Mapping[str, str], *more: str) -> None:
        words = [word for path, value in values.items() for word in ("--plaintext", f"{path}={value}")]
        self._call("config", "set-all", "--path", *words, *more)

    @contextmanager
    def _copied(self, values: Mapping[str, str]) -> Iterator[Path]:
        """Gives a copy of the stack's file with other settings, and removes it."""
        own = stack.project_dir() / f"Pulumi.{self._name.rpartition('/')[2]}.yaml"
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / own.name
            shutil.copy2(own, copy)
            self._set(values, "--config-file", str(copy))
            yield copy

    def _deployment(self) -> dict[str, Any]:
        return dict(json.loads(self._call("stack", "export")).get("deployment") or {})

    def _shown(self, *words: str) -> tuple[int, str]:
        """Returns the exit status and the last lines, which were shown as they came."""
        last: deque[str] = deque(maxlen=_LAST_LINES)
        with subprocess.Popen(
            self._command([*words, "--suppress-outputs"]),
            cwd=stack.project_dir(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            for line in process.stdout or ():
                print(f"    {line.rstrip()}", file=sys.stderr, flush=True)
                last.append(line)
        return process.returncode, "".join(last)

    def _call(self, *words: str) -> str:
        done = self._run(*words)
        if done.returncode != 0:
            raise EngineError(f"`pulumi {' '.join(words)}` failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = self._command(words)
        return subprocess.run(command, cwd=stack.project_dir(), capture_output=True, text=True, check=False)

    def _command(self, words: Sequence[str]) -> list[str]:
        return ["pulumi", *words, "--non-interactive", "--stack", self._name]


def _change(step: Mapping[str, Any]) -> Change:
    state = step.get("newState") or step.get("oldState") or {}
    urn = str(step.get("urn") or "")
    return Change(str(step["op"]), str(state.get("type") or ""), urn.rpartition("::")[2], state.get("inputs") or {})


def _await_end(lock: re.Match[str]) -> None:
    """Waits until the process that has the lock ends. Raises EngineError where it is on another machine."""
    pid, since = int(lock["pid"]), lock["since"]
    if not _is_here(lock):
        raise EngineError(
            f"the stack is locked by a pulumi on {lock['host']} (pid {pid}) since {since}. Run the same command again "
            "when it has ended; if it is gone, `pulumi cancel` removes its lock"
        )
    what = f"another pulumi (pid {pid}, since {since}) ends"
    wait_for(what, partial(_has_ended, pid), _OTHER_ENDS_S, f"See `ps -fp {pid}`, and run the same command again.")


def _is_here(lock: re.Match[str]) -> bool:
    return lock["host"] == socket.gethostname()


def _has_ended(pid: int) -> bool | None:
    """Returns True unless the process runs and is a pulumi; one that is dead and not reaped yet has ended."""
    try:
        os.kill(pid, 0)
        name, _, rest = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").partition("(")[2].rpartition(")")
    except (OSError, ValueError):
        return True
    return None if name == "pulumi" and not rest.strip().startswith("Z") else True
