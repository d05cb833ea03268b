"""What a check says, and what a check is."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from nomad_stateful.operate.doctor.facts import Facts

Level = Literal["problem", "warning"]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or may become so."""

    level: Level
    what: str
    """What is so, with the names of what it is about."""
    why: str
    """Why it matters."""
    cure: str
    """The command, or the setting, that cures it."""
    link: str
    """Where to read more."""


@dataclass(frozen=True)
class Check:
    """One entry of the table of checks."""

    group: str
    name: str
    """What is in order where it finds nothing."""
    run: Callable[[Facts], Iterable[Finding]]
    """Yields what is wrong; raises NotChecked where it cannot tell."""


def problem(what: str, why: str, cure: str, link: str) -> Finding:
    """Returns what is wrong now."""
    return Finding("problem", what, why, cure, link)


def warning(what: str, why: str, cure: str, link: str) -> Finding:
    """Returns what works now and is better changed."""
    return Finding("warning", what, why, cure, link)
