"""Command line: `nomad-stateful COMMAND`; `--help` lists the commands."""

import argparse
import os
import sys
from typing import NoReturn

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful import pages
from nomad_stateful.errors import ProviderError
from nomad_stateful.operate import (
    group,
    recover,
    restore,
    sandbox,
    shell,
    snapshots,
    stack,
    status,
    verify,
)
from nomad_stateful.operate.adopt import command as adopt
from nomad_stateful.operate.doctor import command as doctor
from nomad_stateful.operate.drain import command as drain
from nomad_stateful.operate.drill import command as drill
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.explain import command as explain
from nomad_stateful.operate.frame import Command
from nomad_stateful.operate.metrics import command as metrics
from nomad_stateful.operate.new import command as new
from nomad_stateful.operate.upgrade import command as upgrade
from nomad_stateful.operate.upgrade_database import command as upgrade_database
from nomad_stateful.operate.zone_change import command as zone_change
from nomad_stateful.visible import visible_output

COMMANDS: tuple[Command, ...] = (
    new.COMMAND,
    sandbox.COMMAND,
    verify.COMMAND,
    *shell.COMMANDS,
    snapshots.TAKE,
    snapshots.LIST,
    restore.COMMAND,
    status.COMMAND,
    recover.COMMAND,
    doctor.COMMAND,
    explain.COMMAND,
    zone_change.FAILOVER,
    drain.COMMAND,
    drill.COMMAND,
    upgrade.COMMAND,
    *upgrade_database.COMMANDS,
    adopt.COMMAND,
    metrics.COMMAND,
    zone_change.MOVE,
)
SHELLS = ("bash", "fish", "zsh")
# As a shell has it for SIGINT.
_INTERRUPTED = 130
# The same, for SIGPIPE.
_UNREAD = 141
_EXPECTED = (OperateError, ProviderError, BotoCoreError, ClientError)


class _Completion(argparse.Action):
    """Prints the completion of commands and options, and ends."""

    def __call__(
        self, parser: argparse.ArgumentParser, _known: object, shell: object, _option: object = None
    ) -> NoReturn:
        """Ends with 0."""
        import shtab  # of few calls

        print(shtab.complete(parser, str(shell)))
        parser.exit()


def command_line() -> argparse.ArgumentParser:
    """Returns the tree of commands and options."""
    parser = argparse.ArgumentParser(prog="nomad-stateful", description=__doc__)
    parser.add_argument("--completion", action=_Completion, choices=SHELLS, help="print the completion for a shell")
    words = parser.add_subparsers(dest="command", required=True)
    for command in COMMANDS:
        made = words.add_parser(command.name, help=command.text)
        if command.has_stack:
            made.add_argument(
                "--stack", default="", help="the stack; by default PULUMI_STACK, or the only one there is"
            )
        made.set_defaults(chosen=command)
        command.arguments(made)
    return parser


def main() -> int:
    """Runs one command; returns its exit status, and says on standard error why it failed."""
    with visible_output():
        return _run(command_line().parse_args())


def _run(known: argparse.Namespace) -> int:
    command: Command = known.chosen
    try:
        if command.has_stack:
            stack.choose(known.stack, f"nomad-stateful {command.name}", acts=command.acts(known))
            group.refuse(command.name, known)
        command.run(known)
    except KeyboardInterrupt:
        print("interrupted; `nomad-stateful status` shows how the stack is now", file=sys.stderr)
        return _INTERRUPTED
    except verify.RowsMissingError as error:
        print(f"\nDATA IS MISSING\n{error}", file=sys.stderr)
        return 1
    except _EXPECTED as error:
        print(f"error: {pages.located(str(error))}", file=sys.stderr)
        return int(getattr(error, "exit_status", 1))
    return 0


def run() -> NoReturn:
    """Runs the command `nomad-stateful`."""
    try:
        try:
            status = main()
        finally:
            if sys.stdout:
                sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has ended. What is left of it would be written once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = _UNREAD
    sys.exit(status)


if __name__ == "__main__":
    run()
