"""`python -m sandbox ctl --help`: what the EC2 API does not know, the power of instances, and a way in."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import urllib.request
from collections.abc import Sequence
from typing import Any, Final

from sandbox.cloud import aws_client, faults, notices
from sandbox.cloud.lifecycle.api import CLOCK_PATH
from sandbox.machine import hypervisor, inventory
from sandbox.settings import SandboxError, SandboxSettings, load_settings

_CLOCK_TIMEOUT_S = 600.0
_EACH_SECOND: Final[Any] = {"Delay": 1, "MaxAttempts": 180}
_DONE = {
    "kill": "is dead",
    "cut": "is cut off",
    "heal": "is connected",
    "stop": "is stopped",
    "start": "runs",
}


def kill(settings: SandboxSettings, name_or_id: str) -> inventory.InstanceRecord:
    """Kills an instance as a kernel panic would; EC2 goes on calling it running."""
    record = inventory.find(settings, name_or_id)
    inventory.pull_plug(record)
    return record


def stop(settings: SandboxSettings, name_or_id: str) -> inventory.InstanceRecord:
    """Has EC2 stop an instance, and waits until it is."""
    return _by_ec2(settings, name_or_id, "stop_instances", "instance_stopped")


def start(settings: SandboxSettings, name_or_id: str) -> inventory.InstanceRecord:
    """Has EC2 start an instance, and waits until it runs."""
    return _by_ec2(settings, name_or_id, "start_instances", "instance_running")


def _by_ec2(settings: SandboxSettings, name_or_id: str, call: str, waiter: str) -> inventory.InstanceRecord:
    record = inventory.find(settings, name_or_id)
    ec2, instances = aws_client.client(settings, "ec2"), [record.instance_id]
    getattr(ec2, call)(InstanceIds=instances)
    ec2.get_waiter(waiter).wait(InstanceIds=instances, WaiterConfig=_EACH_SECOND)
    return record


def main(argv: Sequence[str], prog: str = "python -m sandbox ctl") -> int:
    """Does what the arguments say."""
    parser = argparse.ArgumentParser(prog=prog, description="What the EC2 API does not know, and a way in.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("kill", "the instance dies at once, with everything on it"),
        ("cut", "its network link goes down; a zone's name: those of all in it, its Nomad server included"),
        ("heal", "its network link comes up again; a zone's name: those of all in it"),
        ("stop", "EC2 stops it, its services first"),
        ("start", "EC2 starts it"),
        ("enter", "run a command (default: sh) inside it"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("instance", help="name or id" + (", or a zone" if name in {"cut", "heal"} else ""))
        if name == "enter":
            command.add_argument("words", nargs=argparse.REMAINDER, metavar="command")
    notice = commands.add_parser("notice", help="what its metadata says before EC2 takes it away, which then happens")
    notice.add_argument("instance", help="name or id")
    notice.add_argument(
        "kind", choices=(*notices.KINDS, "none"), help="spot: interruption; lifecycle: instance refresh"
    )
    notice.add_argument("--in", dest="in_s", type=int, default=notices.SPOT_S, metavar="S", help="seconds until then")
    commands.add_parser("list", help="the instances and whether they live")
    _add_fault(commands.add_parser("fault", help="what the API answers on a bad day"))
    clock = commands.add_parser("clock", help="the clock by which snapshots are taken on schedule")
    clock.add_argument("verb", choices=("show", "forward"))
    clock.add_argument("by", nargs="?", default="", help="such as 7d, 12h or 30m")
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
    on.add_argument("--action", default="*", help="pattern of the actions it strikes: 'Describe*', 'PUT /BUCKET/*'")
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


def _notice(settings: SandboxSettings, record: inventory.InstanceRecord, kind: str, in_s: int) -> str:
    if kind == "none":
        notices.take_back(settings, record.instance_id)
        return f"{record.name} ({record.instance_id}) stays"
    given = notices.give(settings, record.instance_id, kind, in_s)
    return f"{record.name} ({record.instance_id}) is told: {given.kind}, {given.at}"


def move_clock(settings: SandboxSettings, by: str) -> list[str]:
    """Moves the clock of snapshots forward; returns what was done meanwhile, and the time."""
    found = re.fullmatch(r"(\d+)([dhm])", by)
    if not found:
        raise SandboxError(f"clock forward {by}: say how far, such as 7d, 12h or 30m")
    return _clock(settings, int(found[1]) * {"d": 86_400, "h": 3_600, "m": 60}[found[2]])


def show_clock(settings: SandboxSettings) -> list[str]:
    """Returns the time by which snapshots are taken."""
    return _clock(settings, None)


def _clock(settings: SandboxSettings, forward_s: int | None) -> list[str]:
    body = None if forward_s is None else json.dumps({"forward_s": forward_s}).encode()
    url = settings.ec2_url + CLOCK_PATH
    headers = aws_client.signed_headers(settings, "GET" if body is None else "POST", url, body)
    request = urllib.request.Request(url, data=body, headers=headers)  # noqa: S310 - the cloud's own address
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_CLOCK_TIMEOUT_S) as answer:
            told = json.load(answer)
    except OSError as error:
        raise SandboxError(f"the cloud does not answer at {settings.ec2_url}: {error}") from error
    return [*told["events"], f"now {told['now']}"]


def _do(arguments: argparse.Namespace, settings: SandboxSettings) -> int:
    if arguments.command == "list":
        for record in inventory.records(settings):
            print(f"{record.name}\t{record.instance_id}\t{record.address}\t{'alive' if record.alive else 'off'}")
        return 0
    if arguments.command == "fault":
        _fault(arguments, settings)
        return 0
    if arguments.command == "clock":
        print("\n".join(move_clock(settings, arguments.by) if arguments.verb == "forward" else show_clock(settings)))
        return 0
    if arguments.command == "enter":
        words = [*inventory.enter(arguments.instance, settings), *(arguments.words or ["sh"])]
        os.execvp(words[0], words)
    if arguments.command == "notice":
        print(_notice(settings, inventory.find(settings, arguments.instance), arguments.kind, arguments.in_s))
        return 0
    done = _DONE[arguments.command]
    if arguments.command in {"cut", "heal"} and arguments.instance in settings.zones:
        there = hypervisor.link_zone(settings, arguments.instance, up=arguments.command == "heal")
        print(f"{arguments.instance} ({', '.join(there)}) {done}")
        return 0
    actions = {"kill": kill, "cut": hypervisor.link_down, "heal": hypervisor.link_up, "stop": stop, "start": start}
    record = actions[arguments.command](settings, arguments.instance)
    print(f"{record.name} ({record.instance_id}) {done}")
    return 0
