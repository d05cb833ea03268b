"""`nomad-stateful-agent upload-dumps`: copies each dump of a volume to S3 once, and reads the copy back."""

import argparse
import sys
from contextlib import suppress
from pathlib import Path

from nomad_stateful.agent.dumps import Dumps, Note
from nomad_stateful.agent.errors import AgentError
from nomad_stateful.agent.place import place_arguments
from nomad_stateful.ebs.bucket import Bucket, TakenError, file_digest


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what the command takes."""
    parser.add_argument("--folder", type=Path, required=True, help="where the dumps are")
    place_arguments(parser)


def run(known: argparse.Namespace) -> None:
    """Copies the dumps of a volume. Raises AgentError, OSError and botocore's errors."""
    upload(Bucket.connect(known.bucket), known.prefix, Dumps(known.folder))


def upload(bucket: Bucket, prefix: str, dumps: Dumps) -> None:
    """Copies the dumps that have no note, and looks whether the others' copies are what was uploaded."""
    changed = []
    # The newest first: it is what is worth most if the next one fails.
    for name in dumps.names():
        key = prefix + name
        place = f"s3://{bucket.name}/{key}"
        note = dumps.note(name, place)
        if note is None:
            dumps.write(name, _upload(bucket, key, dumps.folder / name))
        elif not _is_as_noted(bucket, key, note):
            changed.append(place)
    dumps.forget()
    if changed:
        raise AgentError(
            f"not what was uploaded any more: {', '.join(changed)}. Restore an earlier version of it, and find out "
            "who wrote it"
        )
    print(f"every dump on the volume is in s3://{bucket.name}/{prefix}")


def _upload(bucket: Bucket, key: str, path: Path) -> Note:
    """Stores a dump where nothing is yet, and returns the note of it once its copy is checked."""
    place, size, sha256 = f"s3://{bucket.name}/{key}", path.stat().st_size, file_digest(path)
    print(f"{path.name}: {size} bytes go to {place}", flush=True)
    # An upload that was cut off may have come there.
    if bucket.head(key) is None:
        with suppress(TakenError):
            bucket.store(key, path, {"sha256": sha256})
    stored = bucket.head(key)
    if stored is None or (stored.size, stored.metadata.get("sha256")) != (size, sha256):
        there = f"{stored.size} bytes, SHA-256 {stored.metadata.get('sha256')}" if stored else "gone"
        raise AgentError(
            f"{place} is {there} and not {size} bytes, SHA-256 {sha256}: somebody else has uploaded it. Find out who, "
            "and remove the object: the next run uploads this dump"
        )
    # What S3 would give back for a restore, byte for byte.
    if bucket.digest(key) != sha256:
        raise AgentError(
            f"{place} does not come back as it was sent: remove the object, or its newest version, and the next run "
            "uploads it"
        )
    print(f"{place} is there and checked: {size} bytes, SHA-256 {sha256}", flush=True)
    return Note(place, sha256, stored.etag)


def _is_as_noted(bucket: Bucket, key: str, note: Note) -> bool:
    stored = bucket.head(key)
    if stored is None:
        # As the bucket's lifecycle ends copies.
        print(f"{note.place} was uploaded, and is there no more", file=sys.stderr)
        return True
    return stored.metadata.get("sha256") == note.sha256 and note.etag in ("", stored.etag)
