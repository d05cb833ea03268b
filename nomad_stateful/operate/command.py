"""What the command line knows of a command; each module of a command declares its own."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass


def _none(_parser: ArgumentParser) -> None:
    """Adds no arguments."""


def _acts(known: Namespace) -> bool:
    return not getattr(known, "dry_run", False)


@dataclass(frozen=True)
class Command:
    """One word of `nomad-stateful`."""

    name: str
    """The word."""
    text: str
    """What it does, for the list of commands."""
    run: Callable[[Namespace], None]
    """Does it, with the arguments."""
    arguments: Callable[[ArgumentParser], None] = _none
    """Adds the arguments."""
    acts: Callable[[Namespace], bool] = _acts
    """Whether it may change something: then the stack has to be named where there are several."""


def reads_only(_known: Namespace) -> bool:
    """For commands that change nothing."""
    return False
