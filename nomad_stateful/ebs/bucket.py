"""Objects in S3 that are never written over another's."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.waiting import RetryPolicy

if TYPE_CHECKING:
    from s3transfer.utils import ReadFileChunk

# What one request takes; a larger object goes in parts.
_LARGEST_PUT = 5 << 30
_PART = 64 << 20
_MOST_PARTS = 10_000
_TAKEN = frozenset({"PreconditionFailed", "412"})
_MISSING = frozenset({"NoSuchKey", "404"})
_CHUNK = 1 << 20
# Connections that broke without a byte in between, until an object cannot be read.
_TRIES = 5
_AGAIN_S = 2.0
# A second and one attempt, the defaults, are short for the metadata service of a busy client.
_METADATA = {"AWS_METADATA_SERVICE_NUM_ATTEMPTS": "5", "AWS_METADATA_SERVICE_TIMEOUT": "5"}
_ENDPOINT = "AWS_ENDPOINT_URL_S3"


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
class Listed:
    """What a list of objects says of one."""

    size: int
    """In bytes."""
    stored: datetime
    """When it was uploaded, by S3's own clock."""


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
        """Returns a bucket by what the task's environment says of S3."""
        return cls(_client_of_task(), name)

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
        return self._read(key, lambda _: None)

    def fetch(self, key: str, path: Path) -> str | None:
        """Writes an object into a new file; returns its SHA-256, in hex, or None where there is no such object.

        Raises FileExistsError where the file is there.
        """
        with path.open("xb") as file:
            digest = self._read(key, file.write)
        if digest is None:
            path.unlink()
        return digest

    def _read(self, key: str, take: Callable[[bytes], object]) -> str | None:
        """Hands over an object piece by piece; returns its SHA-256, in hex, or None where there is none."""
        found = self.head(key)
        if found is None:
            return None
        digest = hashlib.sha256()
        for chunk in self._chunks(key, found):
            digest.update(chunk)
            take(chunk)
        return digest.hexdigest()

    def _chunks(self, key: str, found: Head) -> Iterator[bytes]:
        """Reads an object as it was found; a connection that breaks is gone on from where it broke."""
        at, attempts = 0, _retries().attempts()
        while at < found.size:
            began = at
            try:
                answer = self._client.get_object(Bucket=self.name, Key=key, Range=f"bytes={at}-", IfMatch=found.etag)
                with closing(answer["Body"]) as body:
                    for chunk in body.iter_chunks(_CHUNK):
                        at += len(chunk)
                        yield chunk
            except BotoCoreError:
                if at > began:
                    attempts = _retries().attempts()
                elif not attempts.another():
                    raise

    def list(self, prefix: str) -> dict[str, Listed]:
        """Returns all objects below a prefix, by their keys."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        objects = (one for page in pages for one in page.get("Contents") or [])
        return {str(one["Key"]): Listed(int(one["Size"]), one["LastModified"]) for one in objects}

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


def _client_of_task() -> Any:
    """Returns a client whose region, endpoint and credentials boto3 reads from the environment."""
    import boto3
    from botocore.config import Config

    for variable, value in _METADATA.items():
        os.environ.setdefault(variable, value)
    # A job names no endpoint by an empty one.
    if not os.environ.get(_ENDPOINT):
        os.environ.pop(_ENDPOINT, None)
    calls = Config(connect_timeout=5, read_timeout=60, retries={"mode": "standard", "max_attempts": 5})
    # Of the two variables, boto3 reads AWS_DEFAULT_REGION alone.
    return boto3.client("s3", region_name=os.environ.get("AWS_REGION") or None, config=calls)


def _parts(file: BinaryIO, size: int) -> Iterator[ReadFileChunk]:
    """Yields a file for each part of a file, of which nothing is held in memory; the next one ends it."""
    from s3transfer.utils import ReadFileChunk

    part = max(_PART, -(-size // _MOST_PARTS))
    for start in range(0, size, part):
        file.seek(start)
        yield ReadFileChunk(file, part, size)


def _retries() -> RetryPolicy:
    return RetryPolicy(math.inf, pauses_s=[_AGAIN_S * tries for tries in range(1, _TRIES + 1)])


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
