"""A stack whose MySQL is on a protected volume, changes of its settings, and rows that must stay."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from nomad_stateful.nomad.running_job import Endpoint
from tools.trial.running import Running


class Config:
    """The stack's configuration file, and changes to its volumes."""

    def __init__(self, stack: Running) -> None:
        self._path = stack.project / "Pulumi.dev.yaml"
        self._known: dict[str, Any] = yaml.safe_load(self._path.read_text())
        self._before = self._path.read_text()

    def volume(self, name: str) -> dict[str, Any]:
        volumes = self._known["config"]["nomad-stateful:volumes"]
        return next(volume for volume in volumes if volume["name"] == name)

    def add(self, volume: dict[str, Any]) -> None:
        self._known["config"]["nomad-stateful:volumes"].append(volume)

    def mysql(self) -> dict[str, Any]:
        return self._known["config"]["nomad-stateful:mysql"]  # type: ignore[no-any-return]

    def save(self) -> None:
        self._path.write_text(yaml.safe_dump(self._known, sort_keys=False))

    def undo(self) -> None:
        self._path.write_text(self._before)


@contextmanager
def protected_stack(folder: Path) -> Iterator[Running]:
    """While a stack is up whose volume mysql is protected."""
    running = Running.prepare(folder)
    config = Config(running)
    config.volume("mysql")["protect"] = True
    # It may be grown while it is mounted wherever the sandbox runs.
    config.volume("archive")["fsType"] = "xfs"
    config.save()
    with running.up():
        yield running


def pulumi(stack: Running, *command: str, succeeds: bool = True) -> str:
    """What pulumi prints."""
    done = stack.run("pulumi", *command, "--non-interactive", "--diff=false", timeout_s=300)
    printed = done.stdout + done.stderr
    assert (done.returncode == 0) is succeeds, printed
    assert "Traceback" not in printed
    return printed


def up(stack: Running) -> str:
    return pulumi(stack, "up", "--yes", "--suppress-outputs")


def write(stack: Running, at: Endpoint, *numbers: int) -> None:
    table = ("CREATE DATABASE IF NOT EXISTS t", "CREATE TABLE IF NOT EXISTS t.life (id INT PRIMARY KEY)")
    stack.sql(at, *table, *[f"INSERT INTO t.life VALUES ({number})" for number in numbers])


def rows(stack: Running, at: Endpoint) -> list[int]:
    return [row[0] for row in stack.sql(at, "SELECT id FROM t.life ORDER BY id")]
