"""What is stored in S3 is never written over another's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.agent import bucket
from nomad_stateful.agent.bucket import Bucket, TakenError
from tests.unit.agent.world import BUCKET

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
    assert made.sizes("") == {"a": 12 * MIB}


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
