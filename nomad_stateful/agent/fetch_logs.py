"""`nomad-stateful-agent fetch-logs`: brings the binary logs that a drill replays, as a server's relay logs."""

import argparse
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from nomad_stateful.agent.errors import AgentError
from nomad_stateful.agent.place import place_arguments
from nomad_stateful.databases.mysql.archive import FOLDER, LogName
from nomad_stateful.ebs.bucket import Bucket

READY = "ready"
"""The file that says that the logs are all there."""
INDEX = "relay.index"
_AT_ONCE = 8


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what the command takes. A point in time may need a hundred thousand logs: their ends name them."""
    place_arguments(parser)
    parser.add_argument("--first", required=True, metavar="NAME", help="the first log, as its object is named")
    parser.add_argument("--last", required=True, metavar="NAME")
    parser.add_argument(
        "--except", action="append", default=[], dest="others", metavar="NAME", help="one of another server"
    )
    parser.add_argument(
        "--after", action="append", default=[], metavar="NAME:NAME", help="the second one comes after the first"
    )
    parser.add_argument("--count", type=int, required=True, help="how many there are")
    parser.add_argument("--into", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--datadir", type=Path, required=True, help="of the server that replays them")
    parser.add_argument("--owner", type=int, required=True, metavar="UID", help="the server's user, who gets the logs")


def run(known: argparse.Namespace) -> None:
    """Fetches them. Raises AgentError, OSError and botocore's errors."""
    bucket, place = Bucket.connect(known.bucket), known.prefix + FOLDER
    names = [key.removeprefix(place) for key in sorted(bucket.list(place))]
    others = frozenset(known.others)
    wanted = [one for one in names if known.first <= one <= known.last and one not in others and LogName.parse(one)]
    if len(wanted) != known.count:
        raise AgentError(f"s3://{bucket.name}/{place} has other logs than a moment ago: begin again")
    for before, _, name in (pair.partition(":") for pair in known.after):
        wanted.remove(name)
        wanted.insert(wanted.index(before) + 1, name)
    folder: Path = known.into
    folder.mkdir(parents=True, exist_ok=True)
    relays = [folder / f"relay.{number:06d}" for number in range(1, len(wanted) + 1)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(partial(_fetch, bucket, place), wanted, relays))
    (folder / INDEX).write_text("".join(f"{relay}\n" for relay in relays), encoding="ascii")
    # Otherwise the transactions of this server and of the old one after the point in time had the same names.
    (known.datadir / "auto.cnf").unlink(missing_ok=True)
    if os.geteuid() == 0:
        for path in (folder, folder / INDEX, *relays):
            shutil.chown(path, known.owner, known.owner)
    (folder / READY).touch()
    print(f"{len(wanted)} logs are fetched from s3://{bucket.name}/{place}")


def _fetch(bucket: Bucket, place: str, name: str, relay: Path) -> None:
    relay.unlink(missing_ok=True)
    if bucket.fetch(place + name, relay) is None:
        raise AgentError(f"s3://{bucket.name}/{place}{name} is gone")
