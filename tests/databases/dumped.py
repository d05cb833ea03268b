"""What the tests of every database ask of its server and of the tasks beside it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol


class Dumped(Protocol):
    """A server, and the tasks beside it that dump and restore."""

    @property
    def database(self) -> str:
        """Its name in the catalogue."""

    @property
    def ending(self) -> str:
        """Of the dumps' names."""

    @property
    def folder(self) -> Path:
        """The volume of the dumps."""

    @property
    def names(self) -> list[str]:
        """The dumps, the oldest first."""

    def fill(self) -> None:
        """Has the database shop as it is at first, and no dump."""

    def objects(self) -> Mapping[str, Any]:
        """What is in shop: rows, views, triggers and what else the database has."""

    def lose(self) -> None:
        """Takes some of them away."""

    def grow(self) -> None:
        """Adds rows of 300 kB and more, which no program makes smaller."""

    def put(self, content: bytes, name: str = ...) -> str:
        """Puts a file beside the dumps; returns its name."""

    def dump(self, keep: int = 7) -> subprocess.CompletedProcess[str]:
        """Runs the task that dumps."""

    def dump_of_no_service(self) -> subprocess.CompletedProcess[str]:
        """Runs it with the login as its template is where Nomad has no such service."""

    def restore(self, name: str = "latest") -> subprocess.CompletedProcess[str]:
        """Runs the task that restores."""
