"""`python -m sandbox.cloud.ctl kill|cut|heal|enter|list|fault`: faults that the EC2 API does not know, and a way in."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from sandbox.cloud import faults
from sandbox.machine import hypervisor, inventory
from sandbox.settings import SandboxError, SandboxSettings, load_settings


def kill(settings: SandboxSettings, name_or_id: str) -> inventory.InstanceRecord:
    """Kills an instance as a kernel panic would; EC2 goes on calling it running."""
    record = inventory.find(settings, name_or_id)
    inventory.pull_plug(record)
    return record


def main(argv: Sequence[str] | None = None) -> int:
    """Does what the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.cloud.ctl", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("kill", "the instance dies at once, with everything on it"),
        ("cut", "its network link goes down"),
        ("heal", "its network link comes up again"),
        ("enter", "run a command (default: sh) inside it"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("instance", help="name or id")
        if name == "enter":
            command.add_argument("words", nargs=argparse.REMAINDER, metavar="command")
    commands.add_parser("list", help="the instances and whether they live")
    _add_fault(commands.add_parser("fault", help="what the API answers on a bad day"))
    arguments = parser.parse_args(argv)
    try:
        return _do(arguments, load_settings())
    except SandboxError as error:
        print(error, file=sys.stderr)
        return 1


def _add_fault(command: argparse.ArgumentParser) -> None:
    verbs = command.add_subparsers(dest="verb", required=True)
    on = verbs.add_parser("on", help="switch one on")
    on.add_argument("kind", choices=faults.KINDS)
    on.add_argument("--name", default="", help="to switch it off by (default: the kind)")
    on.add_argument("--action", default="*", help="pattern of the actions it strikes, such as 'Describe*'")
    on.add_argument("--probability", type=float, default=1.0, metavar="P", help="above 0, up to 1")
    on.add_argument("--count", type=int, default=0, metavar="N", help="how many calls it strikes (0: all)")
    on.add_argument("--seconds", type=float, default=0.0, metavar="S", help="how long it takes, or holds")
    on.add_argument("--after", action="store_true", help="the call takes effect, and fails then")
    off = verbs.add_parser("off", help="switch one off, or all")
    off.add_argument("name", nargs="?", default="")
    verbs.add_parser("list", help="the faults in force")


def _fault(arguments: argparse.Namespace, settings: SandboxSettings) -> None:
    if arguments.verb == "on":
        faults.switch_on(settings, faults.from_arguments(vars(arguments)))
    elif arguments.verb == "off":
        print("\n".join(faults.switch_off(settings, arguments.name)))
    else:
        for fault in faults.read(faults.fault_file(settings)):
            print(fault)


def _do(arguments: argparse.Namespace, settings: SandboxSettings) -> int:
    if arguments.command == "list":
        for record in inventory.records(settings):
            print(f"{record.name}\t{record.instance_id}\t{record.address}\t{'alive' if record.alive else 'off'}")
        return 0
    if arguments.command == "fault":
        _fault(arguments, settings)
        return 0
    if arguments.command == "enter":
        words = [*inventory.enter(arguments.instance, settings), *(arguments.words or ["sh"])]
        os.execvp(words[0], words)
    action = {"kill": kill, "cut": hypervisor.link_down, "heal": hypervisor.link_up}[arguments.command]
    record = action(settings, arguments.instance)
    done = {"kill": "is dead", "cut": "is cut off", "heal": "is connected"}[arguments.command]
    print(f"{record.name} ({record.instance_id}) {done}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
