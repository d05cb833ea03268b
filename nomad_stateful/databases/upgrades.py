"""Upgrades of a database server: its versions, and what commands have to know of one to try and to make them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nomad_stateful.errors import ProviderError

_VERSION = re.compile(r"\d{1,2}(?:\.\d{1,2})*")


class UpgradeRefusedError(ProviderError):
    """The upgrade cannot be done; nothing was changed."""

    exit_status = 4


class Version(tuple[int, ...]):
    """A version of a server, as numbers."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str, length: int) -> Version | None:
        """Returns the version of so many numbers that a text is, None where it is none."""
        found = cls(map(int, text.split("."))) if _VERSION.fullmatch(text) else None
        return found if found is not None and len(found) == length else None

    def __str__(self) -> str:
        return ".".join(map(str, self))


@dataclass(frozen=True)
class Probe:
    """How a new image is tried beside the server: a script in it, with the server's own options."""

    script: str
    """Text that prints the image's version, tries the options in its arguments unless OPTIONS is skip, and prints
    `probe: done` at last."""
    version: re.Pattern[str]
    """Finds the version in what it prints."""
    options_file: str
    """How the file of options ends that the server's task has."""
    left_out: tuple[str, ...]
    """Beginnings of arguments that are the server's alone, or that differ from start to start."""
    errors: tuple[str, ...]
    """Words of the lines that say why it does not start."""


Names = Callable[[str], list[str]]
"""Returns the first column of a statement's rows."""
Section = Mapping[str, Any]
"""The database's section of the settings."""


@dataclass(frozen=True)
class Upgrades:
    """How a server is upgraded on its files."""

    version: str
    """Statement that returns the server's version."""
    of_server: Callable[[str], Version]
    """Returns the version by what the statement returned. Raises UpgradeRefusedError."""
    wanted: Callable[[str], Version]
    """Returns the version that was asked for. Raises UpgradeRefusedError."""
    refuse_path: Callable[[Version, Version], None]
    """Raises UpgradeRefusedError where there is no way from one version's files to the other."""
    option_problems: Callable[[Section, Version], list[str]]
    """Returns what of the settings the new version does not take."""
    content_problems: Callable[[Section, Version, Names], list[str]]
    """Returns what of the server's contents the new version does not take."""
    tables: str
    """Statement that returns the names of the tables that are not the server's own."""
    upgraded: str
    """Statement that returns what the server says of its upgrade; "" where it says nothing."""
    probe: Probe
