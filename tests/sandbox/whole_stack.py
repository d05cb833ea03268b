"""The sandbox's own stack, whole: rows in its MySQL, and its settings with changes."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from nomad_stateful.nomad.running_job import Endpoint
from tests import official_parts
from tests.secrets.__main__ import scan
from tests.secrets.scan import Finding
from tools.trial.running import Running

TABLE = (
    "CREATE DATABASE IF NOT EXISTS t",
    "CREATE TABLE IF NOT EXISTS t.rows (id INT PRIMARY KEY, writer CHAR(36))",
)
_DRIVERS = '("docker", "exec")'


@contextmanager
def whole_stack(folder: Path, *words: str, changes: dict[str, Any] | None = None) -> Iterator[Running]:
    """While the stack is up, on the official nomad plugin where OFFICIAL has it.

    The words are `sandbox up`'s; the changes, by dotted path, are of the settings it starts with.
    """
    running = Running.prepare(folder)
    if changes:
        changed(running, changes, running.project / "Pulumi.dev.yaml")
    with running.up(*words, *official_parts.words()):
        yield running


def take_exec_from_clients(stack: Running) -> None:
    """Before it is up: its clients have the docker driver alone."""
    client = stack.project / "sandbox/cluster/client.py"
    text = client.read_text()
    assert _DRIVERS in text
    client.write_text(text.replace(_DRIVERS, '("docker",)'))


def write(stack: Running, at: Endpoint, number: int) -> None:
    stack.sql(at, *TABLE, f"INSERT INTO t.rows VALUES ({number}, '{at.allocation_id}')")


def numbers(stack: Running, at: Endpoint) -> list[int]:
    return [row[0] for row in stack.sql(at, "SELECT id FROM t.rows ORDER BY id")]


def scanned(stack: Running) -> tuple[list[Finding], Counter[str]]:
    """Secrets found in the sandbox, and the kinds of place looked at."""
    home = stack.project / ".sandbox"
    return scan(stack.env, stack.project, (home / "nomad/management.token").read_text().strip(), (home,))


def changed(stack: Running, changes: dict[str, Any], path: Path) -> Path:
    """A copy of the stack's configuration with changes by dotted path; one past a list's end is added to it."""
    config = yaml.safe_load((stack.project / "Pulumi.dev.yaml").read_text())
    for dotted, value in changes.items():
        top, *path_in = dotted.split(".")
        keys: list[Any] = [f"nomad-stateful:{top}", *(int(key) if key.isdigit() else key for key in path_in)]
        target: Any = config["config"]
        for key in keys[:-1]:
            target = target[key] if isinstance(target, list) else target.setdefault(key, {})
        if isinstance(target, list) and keys[-1] == len(target):
            target.append(value)
        else:
            target[keys[-1]] = value
    path.write_text(yaml.safe_dump(config))
    return path
