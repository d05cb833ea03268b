"""Objects in S3 that are never written over another's."""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

# What one request takes; a larger object goes in parts.
_LARGEST_PUT = 5 << 30
_PART = 64 << 20
_MOST_PARTS = 10_000
_TAKEN = frozenset({"PreconditionFailed", "412"})
_MISSING = frozenset({"NoSuchKey", "404"})
_CHUNK = 1 << 20
_CALLS = Config(connect_timeout=5, read_timeout=60, retries={"mode": "standard", "max_attempts": 5})
# A second and one attempt, the defaults, are short for the metadata service of a busy client.
_METADATA = {"AWS_METADATA_SERVICE_NUM_ATTEMPTS": "5", "AWS_METADATA_SERVICE_TIMEOUT": "5"}
_ENDPOINT = "AWS_ENDPOINT_URL_S3"


def place_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds where in S3 a command works; the endpoint and credentials are read from the environment, as boto3 does."""
    parser.add_argument("--bucket", required=True)
    parser.add_argument("--prefix", default="", help="the stack's in the bucket, ending in a slash")


class TakenError(Exception):
    """Another one wrote that object first, or removed what was to be replaced."""


@dataclass(frozen=True)
class Head:
    """What S3 says of an object."""

    size: int
    """In bytes."""
    metadata: Mapping[str, str]
    etag: str


@dataclass(frozen=True)
class Text:
    """A small object."""

    text: str
    etag: str
    """What it was when it was read: it is replaced only as such."""


class Bucket:
    """A bucket, of which this program may read, list and write objects."""

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        self.name = name

    @classmethod
    def connect(cls, name: str) -> Bucket:
        """Returns a bucket whose region, endpoint and credentials boto3 reads from the environment."""
        for variable, value in _METADATA.items():
            os.environ.setdefault(variable, value)
        # A job names no endpoint by an empty one.
        if not os.environ.get(_ENDPOINT):
            os.environ.pop(_ENDPOINT, None)
        return cls(boto3.client("s3", config=_CALLS), name)

    def store(self, key: str, path: Path, metadata: Mapping[str, str]) -> None:
        """Stores a file under a key that is free; S3 compares its SHA-256. Raises TakenError and botocore's errors."""
        with path.open("rb") as file, _conditional():
            size = path.stat().st_size
            where = {"Bucket": self.name, "Key": key}
            if size <= _LARGEST_PUT:
                how = {"IfNoneMatch": "*", "ChecksumAlgorithm": "SHA256", "Metadata": metadata}
                self._client.put_object(**where, **how, Body=file)
            else:
                self._store_parts(where, file, size, metadata)

    def head(self, key: str) -> Head | None:
        """Returns what S3 says of an object; None where there is none."""
        try:
            answer = self._client.head_object(Bucket=self.name, Key=key)
        except ClientError as error:
            if _code(error) not in _MISSING:
                raise
            return None
        return Head(int(answer["ContentLength"]), answer.get("Metadata") or {}, str(answer["ETag"]))

    def digest(self, key: str) -> str | None:
        """Returns the SHA-256 of what S3 gives back, in hex; None where there is no such object."""
        found = self.open(key)
        if found is None:
            return None
        digest = hashlib.sha256()
        with closing(found[1]) as body:
            for chunk in body.iter_chunks(_CHUNK):
                digest.update(chunk)
        return digest.hexdigest()

    def fetch(self, key: str, path: Path) -> bool:
        """Writes an object into a new file; returns whether there is one. Raises FileExistsError where the file is."""
        found = self.open(key)
        if found is None:
            return False
        with closing(found[1]) as body, path.open("xb") as file:
            for chunk in body.iter_chunks(_CHUNK):
                file.write(chunk)
        return True

    def sizes(self, prefix: str) -> dict[str, int]:
        """Returns the sizes in bytes of all objects below a prefix, by their keys."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return {str(one["Key"]): int(one["Size"]) for page in pages for one in page.get("Contents") or []}

    def open(self, key: str) -> tuple[Mapping[str, str], Any] | None:
        """Returns an object's metadata and its body, which the caller closes; None where there is none."""
        answer = self._get(key)
        return (answer.get("Metadata") or {}, answer["Body"]) if answer else None

    def read(self, key: str) -> Text | None:
        """Returns a small object; None where there is none."""
        answer = self._get(key)
        return Text(answer["Body"].read().decode(errors="replace"), answer["ETag"]) if answer else None

    def write(self, key: str, text: str, known: Text | None) -> None:
        """Replaces a small object that is as it is known, or writes it where there is none. Raises TakenError."""
        condition = {"IfMatch": known.etag} if known else {"IfNoneMatch": "*"}
        with _conditional(replaces=known is not None):
            self._client.put_object(Bucket=self.name, Key=key, Body=text.encode(), **condition)

    def _get(self, key: str) -> Any:
        try:
            return self._client.get_object(Bucket=self.name, Key=key)
        except ClientError as error:
            if _code(error) not in _MISSING:
                raise
            return None

    def _store_parts(self, where: Mapping[str, str], file: BinaryIO, size: int, metadata: Mapping[str, str]) -> None:
        begun = self._client.create_multipart_upload(**where, ChecksumAlgorithm="SHA256", Metadata=metadata)
        upload = {**where, "UploadId": begun["UploadId"]}
        try:
            done = []
            for number, part in enumerate(_parts(file, size), 1):
                answer = self._client.upload_part(**upload, PartNumber=number, Body=part, ChecksumAlgorithm="SHA256")
                done.append({"PartNumber": number, "ETag": answer["ETag"], "ChecksumSHA256": answer["ChecksumSHA256"]})
            self._client.complete_multipart_upload(**upload, IfNoneMatch="*", MultipartUpload={"Parts": done})
        except BaseException:
            with suppress(ClientError, BotoCoreError):
                self._client.abort_multipart_upload(**upload)
            raise


def file_digest(path: Path) -> str:
    """Returns a file's SHA-256, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _parts(file: BinaryIO, size: int) -> Iterator[bytes]:
    part = max(_PART, -(-size // _MOST_PARTS))
    while chunk := file.read(part):
        yield chunk


@contextmanager
def _conditional(*, replaces: bool = False) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if _code(error) in _TAKEN or (replaces and _code(error) in _MISSING):
            raise TakenError(_code(error)) from None
        raise


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code"))
