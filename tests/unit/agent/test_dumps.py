"""Dumps that go to S3 and come back, by the agent's own commands and moto's S3."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from nomad_stateful.agent import fetch_dump, upload_dumps
from nomad_stateful.agent.dumps import Dumps
from nomad_stateful.agent.errors import AgentError
from nomad_stateful.databases.dumps import stem
from nomad_stateful.ebs import bucket as buckets
from nomad_stateful.ebs.bucket import Bucket
from tests.unit.agent.world import BUCKET

PREFIX = "mysql/prod/"
PLACE = f"s3://{BUCKET}/{PREFIX}"
FIRST, SECOND = "20260101T030000Z.sql.gz", "20260102T030000Z.sql.gz"
MIB = 1 << 20
LARGE = bytes(range(256)) * (12 * MIB // 256)


@dataclass(frozen=True)
class Copies:
    """A volume of dumps, and the bucket."""

    folder: Path
    s3: Any

    def upload(self) -> None:
        upload_dumps.upload(Bucket(self.s3, BUCKET), PREFIX, Dumps(self.folder))

    def fetch(self, name: str = "latest", now: datetime | None = None) -> dict[str, bytes]:
        """What is on the volume after a fetch."""
        fetch_dump.fetch(Bucket(self.s3, BUCKET), PREFIX, Dumps(self.folder), name, now or datetime.now(UTC))
        return self.fetched

    def put(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)

    def plant(self, name: str, content: bytes, metadata: dict[str, str] | None = None) -> None:
        """What somebody else may write there."""
        known = metadata or {"sha256": hashlib.sha256(content).hexdigest()}
        self.s3.put_object(Bucket=BUCKET, Key=PREFIX + name, Body=content, Metadata=known)

    def metadata(self, name: str) -> dict[str, str]:
        return dict(self.s3.head_object(Bucket=BUCKET, Key=PREFIX + name)["Metadata"])

    @property
    def fetched(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.folder / ".fetched").glob("*")}

    @property
    def stored(self) -> dict[str, bytes]:
        found = self.s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return {
            one["Key"].removeprefix(PREFIX): self.s3.get_object(Bucket=BUCKET, Key=one["Key"])["Body"].read()
            for one in found
        }

    def versions(self) -> int:
        return len(self.s3.list_object_versions(Bucket=BUCKET).get("Versions", []))


@pytest.fixture
def copies(s3: Any, tmp_path: Path) -> Copies:
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    return Copies(tmp_path, s3)


def refusal(error: pytest.ExceptionInfo[AgentError]) -> str:
    return str(error.value)


def test_each_dump_on_the_volume_is_copied_once_the_newest_first_and_comes_back_as_it_was(
    copies: Copies, capsys: pytest.CaptureFixture[str]
) -> None:
    copies.put(FIRST, b"first")
    copies.put(SECOND, LARGE)
    copies.put("notes.txt", b"no dump")
    copies.upload()
    said = capsys.readouterr().out
    assert copies.stored == {FIRST: b"first", SECOND: LARGE}
    assert said.index(SECOND) < said.index(FIRST)
    copies.upload()
    assert copies.versions() == 2
    for name in (FIRST, SECOND):
        (copies.folder / name).unlink()
    assert copies.fetch() == {SECOND: LARGE}
    assert copies.fetch(FIRST) == {FIRST: b"first"}


def test_latest_is_what_this_stack_uploaded_whatever_else_lies_there(
    copies: Copies, capsys: pytest.CaptureFixture[str]
) -> None:
    copies.put(FIRST, b"first")
    copies.upload()
    for planted in (SECOND, "99991231T235959Z.sql.gz"):
        copies.plant(planted, b"evil")
    assert copies.fetch() == {FIRST: b"first"}
    copies.fetch(SECOND)
    assert f"the volume has no record of {SECOND}" in capsys.readouterr().err
    # On a volume that has none of the notes nothing tells them apart.
    shutil.rmtree(copies.folder / ".uploaded")
    with pytest.raises(AgentError, match="the stack's latest is unknown"):
        copies.fetch()
    assert copies.fetch(FIRST) == {FIRST: b"first"}


def test_a_dump_of_a_clock_that_was_ahead_is_not_the_latest(copies: Copies) -> None:
    now = datetime.now(UTC)
    ahead = f"{stem(now + timedelta(days=30))}.sql.gz"
    copies.put(FIRST, b"first")
    copies.put(ahead, b"ahead")
    copies.upload()
    assert copies.fetch(now=now) == {FIRST: b"first"}
    assert copies.fetch(ahead) == {ahead: b"ahead"}


def test_what_was_there_before_an_upload_is_not_overwritten(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    copies.plant(FIRST, b"other", {"sha256": "0"})
    with pytest.raises(AgentError, match="somebody else has uploaded it"):
        copies.upload()
    assert copies.versions() == 1
    copies.s3.delete_object(Bucket=BUCKET, Key=PREFIX + FIRST)
    copies.upload()
    assert copies.fetch() == {FIRST: b"first"}


def test_what_was_put_in_place_of_a_copy_is_told_and_never_restored(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    copies.upload()
    # With the digest of what was there. The run fails, and with it the alert of failed dumps.
    copies.plant(FIRST, b"other", copies.metadata(FIRST))
    copies.put(SECOND, b"second")
    with pytest.raises(AgentError) as told:
        copies.upload()
    assert f"not what was uploaded any more: {PLACE}{FIRST}." in refusal(told)
    assert copies.stored[SECOND] == b"second"
    with pytest.raises(AgentError, match="was uploaded with"):
        copies.fetch(FIRST)
    assert copies.fetched == {}


def test_a_copy_that_the_buckets_lifecycle_ended_is_said_to_be_gone(
    copies: Copies, capsys: pytest.CaptureFixture[str]
) -> None:
    copies.put(FIRST, b"first")
    copies.upload()
    copies.s3.delete_object(Bucket=BUCKET, Key=PREFIX + FIRST)
    copies.upload()
    assert f"{PLACE}{FIRST} was uploaded, and is there no more" in capsys.readouterr().err
    assert copies.stored == {}


def test_an_upload_whose_answer_was_lost_is_checked_and_noted_by_the_next(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    copies.upload()
    shutil.rmtree(copies.folder / ".uploaded")
    copies.upload()
    assert copies.versions() == 1
    assert copies.fetch() == {FIRST: b"first"}


def test_notes_of_an_earlier_release_count(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    copies.upload()
    note = copies.folder / ".uploaded" / FIRST
    # Without the ETag.
    note.write_text(" ".join(note.read_text().split()[:2]) + "\n")
    copies.upload()
    assert copies.fetch() == {FIRST: b"first"}


def test_another_bucket_or_prefix_gets_every_dump_anew(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    (copies.folder / ".uploaded").mkdir()
    (copies.folder / ".uploaded" / FIRST).write_text("s3://another/mysql/ 0123\n")
    copies.upload()
    assert copies.stored == {FIRST: b"first"}


def test_a_dump_that_is_too_large_for_one_request_goes_in_parts_and_overwrites_nothing_either(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "_LARGEST_PUT", MIB)
    monkeypatch.setattr(buckets, "_PART", 5 * MIB)
    copies.put(FIRST, LARGE)
    copies.upload()
    assert copies.fetch() == {FIRST: LARGE}
    shutil.rmtree(copies.folder / ".uploaded")
    copies.upload()
    assert copies.versions() == 1


@pytest.mark.parametrize("name", [SECOND, "../" + FIRST, ".*", "", "--folder=/"])
def test_a_dump_that_is_not_there_is_told_with_those_that_are(copies: Copies, name: str) -> None:
    copies.put(FIRST, b"first")
    copies.upload()
    with pytest.raises(AgentError, match=f"these are there: {FIRST}"):
        copies.fetch(name)


def test_a_volume_without_room_for_a_dump_is_told_with_the_remedy(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies.put(FIRST, b"first")
    copies.upload()
    full: Sequence[int] = (100, 96, 4)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(*full))
    with pytest.raises(AgentError, match=r"has 5 bytes, and the volume has 4 free: enlarge it \(sizeGib\)"):
        copies.fetch()


def test_an_upload_that_s3_gives_back_otherwise_fails_and_is_not_noted(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies.put(FIRST, b"first")
    with monkeypatch.context() as otherwise:
        otherwise.setattr(Bucket, "digest", lambda *_: "0")
        with pytest.raises(AgentError, match=f"{FIRST} does not come back as it was sent"):
            copies.upload()
    with pytest.raises(AgentError, match="no record of a dump"):
        copies.fetch()


def test_what_an_earlier_restore_left_is_gone_before_anything_is_asked_of_s3(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies.put(FIRST, b"first")
    copies.upload()
    assert copies.fetch() == {FIRST: b"first"}

    def ended(*_: Any) -> None:
        raise SystemExit(143)

    monkeypatch.setattr(Bucket, "fetch", ended)
    with pytest.raises(SystemExit):
        copies.fetch()
    assert copies.fetched == {}
    assert not list(copies.folder.glob(".fetched*"))


def test_what_iam_refuses_is_an_error_and_no_missing_dump(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    copies.put(FIRST, b"first")
    copies.upload()

    def refused(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied"}}, "HeadObject")

    monkeypatch.setattr(copies.s3, "head_object", refused)
    with pytest.raises(ClientError, match="AccessDenied"):
        copies.upload()
    with pytest.raises(ClientError, match="AccessDenied"):
        copies.fetch()


def test_of_a_thousand_notes_the_oldest_go(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    copies.upload()
    for number in range(1000):
        noted = stem(datetime(2027, 1, 1, tzinfo=UTC) + timedelta(hours=number))
        (copies.folder / ".uploaded" / f"{noted}.sql.gz").touch()
    copies.upload()
    assert len(list((copies.folder / ".uploaded").iterdir())) == 1000
    assert not (copies.folder / ".uploaded" / FIRST).exists()
