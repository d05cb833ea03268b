"""`nomad-stateful-agent binlogs`: has MySQL's binary logs in S3, at most an interval behind."""

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.agent.copies.copier import Copier
from nomad_stateful.agent.copies.model import HeldError
from nomad_stateful.agent.place import place_arguments
from nomad_stateful.agent.server import MySqlServer, ServerError
from nomad_stateful.databases.mysql.archive import FOLDER
from nomad_stateful.databases.mysql.binlog import BinlogError
from nomad_stateful.ebs.bucket import Bucket
from nomad_stateful.waiting import repeat

_FAILURES = (ServerError, BinlogError, OSError, BotoCoreError, ClientError)
_AGAIN_S = 5.0


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what the command takes; where S3 is, boto3 reads from the environment."""
    parser.add_argument("--datadir", type=Path, required=True, help="MySQL's data directory; it is only read")
    parser.add_argument("--options", type=Path, required=True, help="option file with user, password and socket")
    place_arguments(parser)
    parser.add_argument("--interval", type=float, default=30.0, metavar="SECONDS")
    parser.add_argument("--member", default="", metavar="NAME", help="of a replication group: its own name")


def run(known: argparse.Namespace) -> None:
    """Copies until it is ended; a server that is not copied serves, and S3 says how late it is."""
    bucket = Bucket.connect(known.bucket)
    writer = os.environ.get("NOMAD_ALLOC_ID", "")
    server = MySqlServer(known.options, in_group=bool(known.member))
    copier = Copier(server, known.datadir, bucket, known.prefix + FOLDER, writer, member=known.member)
    said = ""

    def once() -> float:
        nonlocal said
        why, pause_s = round_of(copier, known.interval)
        if why != said:
            print(why or "the binary logs are copied again", file=sys.stderr, flush=True)
        said = why
        return pause_s

    repeat(once)


def round_of(copier: Copier, interval_s: float) -> tuple[str, float]:
    """Copies once; returns why `until` stays ("" where it moved), and how long to wait."""
    try:
        copier.round(datetime.now(UTC).replace(microsecond=0))
    except HeldError as error:
        return str(error), interval_s
    except _FAILURES as error:
        return f"the binary logs cannot be copied; they stay on the volume: {error}", min(_AGAIN_S, interval_s)
    return "", interval_s
