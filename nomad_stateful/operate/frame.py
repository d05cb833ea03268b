"""The frame of a command that changes something: its plan, the question, its turn, and its result."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.operate import clocks, ownership
from nomad_stateful.operate.cluster import connect
from nomad_stateful.operate.command import ALL_CHECKS, Checks, Command, acts_unless_dry, no_arguments
from nomad_stateful.operate.engine import Engine
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.exclusive import exclusive
from nomad_stateful.operate.ownership import stack_cluster


class NotConfirmedError(OperateError):
    """Nobody said yes; nothing was changed."""


@dataclass(frozen=True)
class Frame:
    """One run of a command."""

    command: str
    yes: bool
    """Whether the question is answered already."""
    dry_run: bool = False
    as_json: bool = False
    checks: Checks = ALL_CHECKS

    def agree(
        self,
        question: str,
        plan: str = "",
        preview: Mapping[str, Any] | None = None,
        *,
        needed: bool = True,
    ) -> bool:
        """Says the plan on standard error, and asks. Raises NotConfirmedError.

        Returns whether to act: not on a dry run, nor where nothing needs it. Then the preview is the result.
        """
        if plan:
            print(plan, file=sys.stderr, flush=True)
        if self.dry_run or not needed:
            self.tell(preview or {}, "nothing was changed" if needed else "nothing to do")
            return False
        confirm(question, yes=self.yes)
        return True

    @contextmanager
    def cluster(self, volume: str = "", *, operator: bool = True) -> Iterator[NomadApi]:
        """A connection to the stack's cluster, checked to be that; with `volume` by this one alone.

        Raises WrongClusterError.
        """
        by_volume = bool(volume) and not self.checks.cluster
        with closing(stack_cluster(volume) if by_volume else connect(operator=operator)) as nomad:
            if not by_volume and not self.checks.cluster:
                ownership.required(nomad)
            if not self.checks.clock:
                clocks.warn(nomad)
            yield nomad

    @contextmanager
    def turn(self, nomad: NomadApi, subject: str, engine: Engine | None = None) -> Iterator[Callable[[], None]]:
        """A context in which no other command changes the stack; gives what raises BusyError where one does after all.

        With its engine, no other pulumi may have its lock either. Raises BusyError, StackLockedError and ProviderError.
        """
        if self.checks.turn:
            yield lambda: None
            return
        with exclusive(nomad, f"{self.command} {subject}".strip()) as refuse_lost:
            if engine is not None and not self.checks.pulumi:
                engine.refuse_locked()
            yield refuse_lost

    def tell(self, result: Mapping[str, Any], text: str = "") -> None:
        """Prints the result, for scripts or for people."""
        if self.as_json or text:
            print(json.dumps(result, indent=2) if self.as_json else text, flush=True)


@contextmanager
def interruptible(resume: Callable[[], str]) -> Iterator[None]:
    """A context whose interruption is told with what it leaves, and how to resume. Raises OperateError."""
    try:
        yield
    except KeyboardInterrupt:
        raise OperateError(f"interrupted: {resume()}") from None


def confirm(question: str, *, yes: bool) -> None:
    """Asks on the terminal, unless `yes` says it already. Raises NotConfirmedError."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise NotConfirmedError(f"{question} There is no terminal to answer on: add --yes. Nothing was changed")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotConfirmedError("nothing was changed")


def framed(
    name: str,
    text: str,
    act: Callable[[Frame, Namespace], None],
    arguments: Callable[[ArgumentParser], None] = no_arguments,
    *,
    checks: Checks = ALL_CHECKS,
    acts: Callable[[Namespace], bool] = acts_unless_dry,
    answered: Callable[[Namespace], bool] = lambda known: bool(known.yes),
) -> Command:
    """Returns a command that runs in the frame; `answered` says whether its options answer the question already."""

    def run(known: Namespace) -> None:
        given = {"dry_run": getattr(known, "dry_run", False), "as_json": getattr(known, "json", False)}
        act(Frame(name, answered(known), **given, checks=checks), known)

    return Command(name, text, run, arguments, acts, checks)
