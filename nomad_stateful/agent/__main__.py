"""Command line of what runs in containers beside the database: `nomad-stateful-agent COMMAND`."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

from nomad_stateful.agent.binlogs import command as binlogs

_COMMANDS: Mapping[str, ModuleType] = {"binlogs": binlogs}


def main(words: Sequence[str]) -> int:
    """Runs one command to its end."""
    parser = argparse.ArgumentParser(prog="nomad-stateful-agent", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in _COMMANDS.items():
        module.arguments(commands.add_parser(name, help=module.__doc__, description=module.__doc__))
    # The first process of a container ignores what it does not handle.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    known = parser.parse_args(words)
    command: Callable[[argparse.Namespace], None] = _COMMANDS[known.command].run
    command(known)
    return 0


def run() -> None:
    """Entry of the installed program."""
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
