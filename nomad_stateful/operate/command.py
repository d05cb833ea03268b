"""What the command line knows of a command; each module of a command declares its own."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass


def no_arguments(_parser: ArgumentParser) -> None:
    """Adds no arguments."""


def acts_unless_dry(known: Namespace) -> bool:
    """For commands that change something, but for their dry run."""
    return not getattr(known, "dry_run", False)


@dataclass(frozen=True)
class Checks:
    """What the frame checks for a command before it changes anything: empty, or why the frame does not."""

    turn: str = ""
    """That no other command changes the stack."""
    pulumi: str = ""
    """That no other `pulumi` has the stack's lock."""
    cluster: str = ""
    """That the Nomad cluster has the stack's volumes, or the one that the command is about."""
    clock: str = "compares no times"
    """That this machine's clock is the Nomad server's; else it warns."""


ALL_CHECKS = Checks()


@dataclass(frozen=True)
class Command:
    """One word of `nomad-stateful`."""

    name: str
    """The word."""
    text: str
    """What it does, for the list of commands."""
    run: Callable[[Namespace], None]
    """Does it, with the arguments."""
    arguments: Callable[[ArgumentParser], None] = no_arguments
    """Adds the arguments."""
    acts: Callable[[Namespace], bool] = acts_unless_dry
    """Whether it may change something: then the stack has to be named where there are several."""
    checks: Checks | None = None
    """What the frame checks for it; None where it runs outside of the frame, since it changes nothing of the stack."""
    has_stack: bool = True
    """Whether it works on a stack that is there."""


def reads_only(_known: Namespace) -> bool:
    """For commands that change nothing."""
    return False
