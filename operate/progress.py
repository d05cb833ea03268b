"""What a command says on its way, beside its result."""

import sys


def say(line: str) -> None:
    """Prints to standard error at once: standard output is the result's."""
    print(line, file=sys.stderr, flush=True)
