"""What everyone who is compared can do."""

from __future__ import annotations

from typing import Protocol


class Failed(Exception):
    """A contender could not do what was asked; the message fits into a table."""


class Contender(Protocol):
    """Brings the same stack up, changes it and takes it away, in a way of its own. Each call raises Failed."""

    name: str

    def up(self) -> None:
        """From nothing; returns once this contender takes itself for done."""

    def change(self, memory_mib: int) -> None:
        """Gives MySQL another memory limit."""

    def destroy(self) -> None:
        """Takes everything away again."""

    def forget(self) -> None:
        """Drops what it remembers, after others have taken everything away by hand."""
