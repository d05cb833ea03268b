"""Command line of what runs in containers beside the database: `nomad-stateful-agent COMMAND`."""

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.errors import ProviderError

COMMANDS: Mapping[str, str] = {
    "binlogs": "close MySQL's binary logs, and copy them to S3",
    "fetch-dump": "bring the dump that a restore was dispatched for from S3 to the volume",
    "fetch-logs": "bring the binary logs that a drill replays from S3",
    "group": "keep a member in its MySQL replication group, and tell routers what it is",
    "upload-dumps": "copy the dumps of a volume to S3, and read the copies back",
    "watch": "have the jobs of lost clients started elsewhere",
}
"""A module has the name of its command, with `arguments` and `run`, and is imported for it alone."""


def main(words: Sequence[str]) -> int:
    """Runs one command; returns 1 where it says why it cannot do what it is asked for."""
    parser = argparse.ArgumentParser(prog="nomad-stateful-agent", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    own = {name: commands.add_parser(name, help=what, description=what) for name, what in COMMANDS.items()}
    name = next(iter(words), "")
    if name not in own:
        # Says what there is, and ends.
        parser.parse_args(words)
        return 2
    module = import_module(f"nomad_stateful.agent.{name.replace('-', '_')}")
    module.arguments(own[name])
    try:
        module.run(parser.parse_args(words))
    except (ProviderError, BotoCoreError, ClientError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def run() -> None:
    """Entry of the installed program."""
    # Dumps and logs have everybody's rows.
    os.umask(0o077)
    # The first process of a container ignores what it does not handle. What is ended has not done what it was to do.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
