"""What a command says on its way, beside its result."""

import sys
from collections.abc import Callable

from nomad_stateful.waiting import Context


def say(line: str) -> None:
    """Prints to standard error at once: standard output is the result's."""
    print(line, file=sys.stderr, flush=True)


def context(to: Callable[[str], None] = say) -> Context:
    """Returns a command's own circumstances for what waits: it says how far it is."""

    def tell(_severity: object, message: str, _urn: str, ephemeral: bool) -> None:
        if not ephemeral:
            to(f"    {message}")

    return Context(sink=tell)


CONTEXT = context()
