"""What is stored in S3 is never written over another's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ResponseStreamingError

from nomad_stateful.ebs import bucket
from nomad_stateful.ebs.bucket import Bucket, TakenError
from tests.unit.agent import conftest
from tests.unit.agent.world import BUCKET

# Fixtures.
client, s3 = conftest.client, conftest.s3

MIB = 1 << 20


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * (12 * MIB // 256))
    return path


@pytest.mark.parametrize("parts", [False, True])
def test_a_file_is_stored_once(s3: Any, file: Path, monkeypatch: pytest.MonkeyPatch, parts: bool) -> None:
    if parts:
        monkeypatch.setattr(bucket, "_LARGEST_PUT", MIB)
        monkeypatch.setattr(bucket, "_PART", 5 * MIB)
    made = Bucket(s3, BUCKET)
    made.store("a", file, {"gtids": "x:1"})
    head = made.head("a")
    assert head
    assert (head.size, head.metadata) == (12 * MIB, {"gtids": "x:1"})
    opened = made.open("a")
    assert opened
    assert (opened[0], opened[1].read()) == ({"gtids": "x:1"}, file.read_bytes())
    with pytest.raises(TakenError):
        made.store("a", file, {})
    assert not s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads")
    assert {key: one.size for key, one in made.list("").items()} == {"a": 12 * MIB}


def test_what_is_not_there_is_none(s3: Any) -> None:
    made = Bucket(s3, BUCKET)
    assert (made.head("a"), made.digest("a"), made.open("a"), made.read("a")) == (None, None, None, None)


def test_a_small_object_is_replaced_as_it_was_read(s3: Any) -> None:
    made = Bucket(s3, BUCKET)
    made.write("a", "first", None)
    with pytest.raises(TakenError):
        made.write("a", "second", None)
    first = made.read("a")
    made.write("a", "third", first)
    with pytest.raises(TakenError):
        made.write("a", "fourth", first)
    third = made.read("a")
    assert third
    assert third.text == "third"
    s3.delete_object(Bucket=BUCKET, Key="a")
    with pytest.raises(TakenError):
        made.write("a", "fifth", third)


class Broken:
    """A body whose connection breaks after some bytes."""

    def __init__(self, body: Any, after: int) -> None:
        self._body = body
        self._after = after

    def iter_chunks(self, size: int) -> Iterator[bytes]:
        yield self._body.read(self._after)
        raise ResponseStreamingError(error="Connection broken")

    def close(self) -> None:
        self._body.close()


@pytest.mark.parametrize(("after", "read"), [(MIB, True), (0, False)])
def test_a_connection_that_breaks_is_gone_on_from_where_it_broke(
    s3: Any, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int, read: bool
) -> None:
    monkeypatch.setattr(bucket, "_AGAIN_S", 0)
    made = Bucket(s3, BUCKET)
    made.store("a", file, {})
    whole, asked = s3.get_object, []

    def broken(**words: Any) -> dict[str, Any]:
        asked.append(words["Range"])
        answer: dict[str, Any] = whole(**words)
        return answer if after and len(asked) > 3 else answer | {"Body": Broken(answer["Body"], after)}

    monkeypatch.setattr(s3, "get_object", broken)
    if read:
        assert made.fetch("a", tmp_path / "there") == bucket.file_digest(file)
        assert (tmp_path / "there").read_bytes() == file.read_bytes()
        assert asked == [f"bytes={at * MIB}-" for at in range(4)]
    else:
        with pytest.raises(ResponseStreamingError):
            made.fetch("a", tmp_path / "there")
        assert set(asked) == {"bytes=0-"}


def test_an_object_that_is_replaced_while_it_is_read_is_not_mixed_with_the_other(
    s3: Any, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket, "_AGAIN_S", 0)
    made = Bucket(s3, BUCKET)
    made.store("a", file, {})
    whole = s3.get_object

    def replaced(**words: Any) -> dict[str, Any]:
        answer: dict[str, Any] = whole(**words)
        s3.put_object(Bucket=BUCKET, Key="a", Body=b"x" * 12 * MIB)
        return answer | {"Body": Broken(answer["Body"], MIB)}

    monkeypatch.setattr(s3, "get_object", replaced)
    with pytest.raises(ClientError, match="PreconditionFailed"):
        made.fetch("a", tmp_path / "there")


def test_the_region_is_the_jobs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks have AWS_REGION, which boto3 does not read."""
    for name in ("AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "")
    meta = Bucket.connect("logs")._client.meta
    assert (meta.region_name, meta.endpoint_url) == ("eu-central-1", "https://s3.eu-central-1.amazonaws.com")
