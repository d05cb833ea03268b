"""`nomad-stateful-agent fetch-dump`: brings the dump that a restore was dispatched for from S3 to the volume."""

import argparse
import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

from nomad_stateful.agent.dumps import Dumps
from nomad_stateful.agent.errors import AgentError
from nomad_stateful.agent.place import place_arguments
from nomad_stateful.databases.dumps import is_dump, launched, stem
from nomad_stateful.ebs.bucket import Bucket

LATEST = "latest"
FETCHED = ".fetched"
"""The folder that the dump is put into."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what the command takes; the meta keys dump and from of the dispatch say what is restored from where."""
    parser.add_argument("--folder", type=Path, required=True, help="where the dumps are")
    place_arguments(parser)


def run(known: argparse.Namespace) -> None:
    """Fetches where S3 is what is restored from. Raises AgentError, OSError and botocore's errors."""
    if os.environ.get("NOMAD_META_FROM") != "s3":
        return
    bucket = Bucket.connect(known.bucket)
    now = launched(os.environ.get("NOMAD_JOB_ID", "")) or datetime.now(UTC)
    fetch(bucket, known.prefix, Dumps(known.folder), os.environ.get("NOMAD_META_DUMP", ""), now)


def fetch(bucket: Bucket, prefix: str, dumps: Dumps, wanted: str, now: datetime) -> None:
    """Brings a dump, or the latest one that this stack has uploaded before now, and nothing else."""
    place = f"s3://{bucket.name}/{prefix}"
    sizes = {key.removeprefix(prefix): one.size for key, one in bucket.list(prefix).items()}
    there = sorted(filter(is_dump, sizes))
    name = _latest(dumps, place, there, now) if wanted == LATEST else wanted
    if name not in there:
        raise AgentError(f"there is no dump {wanted} in {place}; these are there: {' '.join(there)}")
    note, stored = dumps.note(name, place + name), bucket.head(prefix + name)
    sha256 = note.sha256 if note else stored.metadata.get("sha256") if stored else None
    if note is None:
        print(f"the volume has no record of {name}: only its name says that it is this stack's", file=sys.stderr)
    dumps.folder.mkdir(parents=True, exist_ok=True)
    folder, new = dumps.folder / FETCHED, dumps.folder / f"{FETCHED}.new"
    # What an earlier restore left is not this one's dump.
    for left in (folder, new):
        if left.exists():
            shutil.rmtree(left)
    free = shutil.disk_usage(dumps.folder).free
    if free <= sizes[name]:
        raise AgentError(
            f"{name} has {sizes[name]} bytes, and the volume has {free} free: enlarge it (sizeGib), or remove dumps "
            "from it"
        )
    print(f"{name}: {sizes[name]} bytes come from {place}", flush=True)
    new.mkdir()
    try:
        got = bucket.fetch(prefix + name, new / name)
        if got is None or got != sha256:
            raise AgentError(
                f"{place}{name} has the SHA-256 {got}, and was uploaded with {sha256}: somebody else wrote it. Restore "
                "an earlier version of the object, or name another dump"
            )
        new.rename(folder)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    print(f"{name} came as it was uploaded: SHA-256 {sha256}")


def _latest(dumps: Dumps, place: str, there: list[str], now: datetime) -> str:
    """Returns the latest noted dump: whoever may write to S3 can give a name of any time, as a clock that was ahead."""
    noted = [name for name in there if name.partition(".")[0] <= stem(now) and dumps.note(name, place + name)]
    if not noted:
        raise AgentError(
            f"the volume has no record of a dump in {place}, so the stack's latest is unknown; name one of these: "
            f"{' '.join(there)}"
        )
    return noted[-1]
