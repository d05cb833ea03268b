"""`nomad-stateful-agent group`: keeps a member in its replication group, and tells routers what it is."""

import argparse
from pathlib import Path
from urllib.parse import urlsplit

from pymysql.optionfile import Parser

from nomad_stateful.agent.membership.decision import Group
from nomad_stateful.agent.membership.disk import Disk
from nomad_stateful.agent.membership.http import Answers, serve
from nomad_stateful.agent.membership.keeper import Keeper, tell
from nomad_stateful.agent.membership.member import Member
from nomad_stateful.agent.membership.watch import Watch
from nomad_stateful.errors import ProviderError
from nomad_stateful.waiting import repeat


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what the command takes."""
    client = "option file, section client"
    parser.add_argument("--options", type=Path, required=True, help=f"{client}: root, by the server's socket")
    parser.add_argument("--replication", type=Path, required=True, help=f"{client}: the group's account")
    parser.add_argument(
        "--datadir", type=Path, required=True, help="MySQL's data directory; its file system is looked at"
    )
    parser.add_argument("--group", required=True, metavar="UUID")
    parser.add_argument("--member", required=True, metavar="NAME", help="this one")
    parser.add_argument("--members", type=_members, required=True, metavar="NAME:PORT,…", help="all, with this one")
    parser.add_argument("--first", required=True, metavar="NAME", help="who begins a group that never was")
    parser.add_argument("--ca", default="", metavar="FILE", help="of the authority that the members are verified by")
    parser.add_argument("--hosts", type=Path, metavar="FILE", help="members' addresses, as in /etc/hosts")
    parser.add_argument("--accounts", type=Path, metavar="FILE", help="SQL that the primary runs, a statement a line")
    parser.add_argument(
        "--has-scripts", choices=["true", "false"], default="false", help="run by a first start, unlogged"
    )
    parser.add_argument("--listen", type=_listen, required=True, metavar="ADDRESS:PORT", help="for routers' questions")


def run(known: argparse.Namespace) -> None:
    """Keeps the member in its group until it is ended."""
    group = Group(known.group.lower(), known.member, known.first, known.members)
    for name in (group.own, group.first):
        if name not in group.members:
            raise ProviderError(f"--members has to name {name} too: it is {', '.join(group.members)}")
    socket = _socket(known.options)
    member = Member(
        group,
        known.options,
        known.replication,
        socket.with_name("stopped-events"),
        authority=Path(known.ca) if known.ca else None,
        hosts=known.hosts,
        has_scripts=known.has_scripts == "true",
    )
    order = socket.with_name("kill")
    watch = Watch(member, Disk(known.datadir, order, tell))
    keeper = Keeper(member, order, accounts=known.accounts)
    watch.start()
    serve(Answers(watch, keeper, socket.with_name("leaving")), *known.listen)
    repeat(keeper.round)


def _members(text: str) -> dict[str, int]:
    members = {name: int(port) for name, _, port in (word.partition(":") for word in text.split(","))}
    if len(members) != text.count(",") + 1 or not all(members):
        raise ValueError
    return members


def _listen(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname or parts.port is None:
        raise ValueError
    return parts.hostname, parts.port


def _socket(options: Path) -> Path:
    parser = Parser()
    parser.read_string(options.read_text(encoding="utf-8"))
    if not parser.has_option("client", "socket"):
        raise ProviderError(f"{options} has to name the server's socket in the section client")
    return Path(parser.get("client", "socket"))
