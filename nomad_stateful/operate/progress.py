"""What a command says on its way, beside its result."""

import sys

from nomad_stateful.waiting import Context


def say(line: str) -> None:
    """Prints to standard error at once: standard output is the result's."""
    print(line, file=sys.stderr, flush=True)


def _tell(_severity: object, message: str, _urn: str, ephemeral: bool) -> None:
    if not ephemeral:
        say(f"    {message}")


CONTEXT = Context(sink=_tell)
"""A command's own circumstances for what waits: it says how far it is."""
