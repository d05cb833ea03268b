"""The tasks that bring dumps to S3 and back, by their own scripts and the AWS CLI that exec tasks have."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.mysql.place import Flavour, Place, place, task
from tests.ports import unused_port
from tests.providers.moto_account import clients, empty_account, environment, moto

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]

BUCKET, PREFIX = "dumps", "mysql/prod/"
FIRST, SECOND = "20260101T030000Z.sql.gz", "20260102T030000Z.sql.gz"


@dataclass(frozen=True)
class Copies:
    """The tasks in a root of their own, and the bucket."""

    root: Place
    nomad: Path
    url: str
    s3: Any

    def upload(self, url: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return self._run("mysql-backup", "upload", url, **env)

    def fetch(self, name: str) -> subprocess.CompletedProcess[str]:
        return self._run("mysql-restore", "fetch", NOMAD_META_dump=name, NOMAD_META_from="s3")

    def put(self, name: str, content: bytes) -> None:
        (self.dumps / name).write_bytes(content)

    @property
    def dumps(self) -> Path:
        return self.root.root / "dumps"

    @property
    def fetched(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.dumps / ".fetched").glob("*")}

    @property
    def stored(self) -> dict[str, bytes]:
        found = self.s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return {one["Key"]: self.s3.get_object(Bucket=BUCKET, Key=one["Key"])["Body"].read() for one in found}

    def versions(self) -> int:
        return len(self.s3.list_object_versions(Bucket=BUCKET).get("Versions", []))

    def _run(self, spec: str, name: str, url: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        place_of = {"bucket": BUCKET, "prefix": PREFIX, "region": "us-west-2", "endpoint": url or self.url}
        found = task(self.nomad, spec, name, {"s3": {**place_of, "image": "", "memory_mib": 64}})
        self.root.put(found, {})
        # In place of those of the instance's role.
        return self.root.run(found, **{**environment(self.url), "AWS_MAX_ATTEMPTS": "1", **env})


@pytest.fixture(scope="module")
def account() -> Iterator[str]:
    with moto() as url:
        yield url


@pytest.fixture
def copies(account: str, flavour_of: Callable[[str], Flavour], nomad: Path, tmp_path: Path) -> Iterator[Copies]:
    empty_account()
    s3 = clients(account).s3
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    with place(flavour_of("mariadb"), tmp_path, unused_port()) as root:
        yield Copies(root, nomad, account, s3)


def test_each_dump_on_the_volume_is_copied_once_and_comes_back_as_it_was(copies: Copies) -> None:
    # More than one part of an upload.
    large = bytes(range(256)) * 40_000
    copies.put(FIRST, b"first")
    copies.put(SECOND, large)
    copies.put("notes.txt", b"no dump")
    done = copies.upload()
    assert done.returncode == 0, done.stderr
    assert copies.stored == {PREFIX + FIRST: b"first", PREFIX + SECOND: large}
    assert done.stdout.index(SECOND) < done.stdout.index(FIRST)
    again = copies.upload()
    assert again.returncode == 0, again.stderr
    assert copies.versions() == 2
    for name in (FIRST, SECOND):
        (copies.dumps / name).unlink()
    assert copies.fetch("latest").returncode == 0
    assert copies.fetched == {SECOND: large}
    assert copies.fetch(FIRST).returncode == 0
    assert copies.fetched == {FIRST: b"first"}


def test_latest_is_what_this_stack_uploaded_whatever_else_lies_there(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    assert copies.upload().returncode == 0
    for planted in (SECOND, "99991231T235959Z.sql.gz"):
        digest = hashlib.sha256(b"evil").hexdigest()
        copies.s3.put_object(Bucket=BUCKET, Key=PREFIX + planted, Body=b"evil", Metadata={"sha256": digest})
    assert copies.fetch("latest").returncode == 0
    assert copies.fetched == {FIRST: b"first"}
    named = copies.fetch(SECOND)
    assert named.returncode == 0
    assert f"the volume has no note of {SECOND}" in named.stderr
    # On a volume that has none of the notes nothing tells them apart.
    shutil.rmtree(copies.dumps / ".uploaded")
    refused = copies.fetch("latest")
    assert refused.returncode != 0
    assert "nothing says which is the latest of this stack's" in refused.stderr
    assert copies.fetch(FIRST).returncode == 0


def test_what_was_put_in_place_of_a_dump_is_never_taken_for_it(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    # Before the upload: it overwrites nothing.
    copies.s3.put_object(Bucket=BUCKET, Key=PREFIX + FIRST, Body=b"other", Metadata={"sha256": "0"})
    refused = copies.upload()
    assert refused.returncode != 0
    assert "somebody else has uploaded it" in refused.stderr
    assert copies.versions() == 1
    copies.s3.delete_object(Bucket=BUCKET, Key=PREFIX + FIRST)
    assert copies.upload().returncode == 0
    # After it, with the digest of what was there: the next run fails, and with it the alert of failed dumps.
    kept = copies.s3.head_object(Bucket=BUCKET, Key=PREFIX + FIRST)["Metadata"]
    copies.s3.put_object(Bucket=BUCKET, Key=PREFIX + FIRST, Body=b"other", Metadata=kept)
    copies.put(SECOND, b"second")
    told = copies.upload()
    assert told.returncode != 0
    assert f"not what was uploaded any more: s3://{BUCKET}/{PREFIX}{FIRST}." in told.stderr
    assert copies.stored[PREFIX + SECOND] == b"second"


@pytest.mark.nightly
def test_an_upload_whose_answer_was_lost_is_checked_and_noted_by_the_next(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    assert copies.upload().returncode == 0
    shutil.rmtree(copies.dumps / ".uploaded")
    assert copies.upload().returncode == 0
    assert copies.versions() == 1
    assert copies.fetch("latest").returncode == 0


@pytest.mark.nightly
def test_notes_of_an_earlier_release_count(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    assert copies.upload().returncode == 0
    note = copies.dumps / ".uploaded" / FIRST
    note.write_text(" ".join(note.read_text().split()[:2]) + "\n")
    assert copies.upload().returncode == 0
    assert copies.fetch("latest").returncode == 0


def test_a_dump_that_is_too_large_for_one_request_goes_in_parts_and_overwrites_nothing_either(copies: Copies) -> None:
    large = bytes(range(256)) * 50_000
    copies.put(FIRST, large)
    in_parts = {"LARGEST_PUT": "1000", "PART_MIB": "5"}
    done = copies.upload(**in_parts)
    assert done.returncode == 0, done.stderr
    assert copies.stored == {PREFIX + FIRST: large}
    assert copies.fetch("latest").returncode == 0
    shutil.rmtree(copies.dumps / ".uploaded")
    again = copies.upload(**in_parts)
    assert again.returncode == 0, again.stderr
    assert copies.versions() == 1


@pytest.mark.nightly
def test_what_s3_gives_back_otherwise_is_neither_taken_for_copied_nor_restored(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    assert copies.upload().returncode == 0
    kept = copies.s3.head_object(Bucket=BUCKET, Key=PREFIX + FIRST)["Metadata"]
    copies.s3.put_object(Bucket=BUCKET, Key=PREFIX + FIRST, Body=b"other", Metadata=kept)
    refused = copies.fetch(FIRST)
    assert refused.returncode != 0
    assert "was uploaded with" in refused.stderr
    assert copies.fetched == {}


@pytest.mark.nightly
def test_a_dump_that_is_not_there_is_told_with_those_that_are(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    assert copies.upload().returncode == 0
    for name in (SECOND, "../" + FIRST, ".*", ""):
        refused = copies.fetch(name)
        assert refused.returncode != 0
        assert f"these are there: {FIRST}" in refused.stderr


@pytest.mark.nightly
def test_an_upload_that_cannot_be_done_fails_and_the_next_makes_up_for_it(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    started = time.monotonic()
    assert copies.upload("http://127.0.0.1:1").returncode != 0
    assert time.monotonic() - started < 60
    assert copies.stored == {}
    copies.put(SECOND, b"second")
    assert copies.upload().returncode == 0
    assert copies.stored == {PREFIX + FIRST: b"first", PREFIX + SECOND: b"second"}


def test_an_upload_without_credentials_says_so(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    done = copies.upload(AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="", AWS_EC2_METADATA_DISABLED="true")
    assert done.returncode != 0
    assert "Unable to locate credentials" in done.stderr
    assert copies.stored == {}


def test_an_upload_without_the_aws_cli_says_so(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    done = copies.upload(PATH="/nowhere")
    assert done.returncode != 0
    assert "there is no AWS CLI (aws) here" in done.stderr
    assert copies.stored == {}


def test_an_upload_that_iam_refuses_says_so(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    iam = clients(copies.url).iam
    iam.create_user(UserName="nobody")
    key = iam.create_access_key(UserName="nobody")["AccessKey"]
    copies.put(FIRST, b"first")
    with monkeypatch.context() as enforced:
        # From now on moto allows what a policy allows, and nothing else.
        enforced.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0)
        done = copies.upload(AWS_ACCESS_KEY_ID=key["AccessKeyId"], AWS_SECRET_ACCESS_KEY=key["SecretAccessKey"])
    assert done.returncode != 0
    assert "AccessDenied" in done.stderr
    assert copies.stored == {}


def test_an_upload_that_s3_gives_back_otherwise_fails(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    wrapper = copies.root.root / "usr/local/sbin/aws"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    # An S3 that stores what it is given and gives back something else, with the metadata of what it was given.
    wrapper.write_text(
        '#!/bin/sh\ncase "$*" in *" -") printf other ;; *) PATH=/usr/local/bin:/usr/bin:/bin; exec aws "$@" ;; esac\n'
    )
    wrapper.chmod(0o755)
    done = copies.upload()
    assert done.returncode != 0
    assert f"{FIRST} does not come back as it was sent" in done.stderr


@pytest.mark.nightly
def test_another_bucket_or_prefix_gets_every_dump_anew(copies: Copies) -> None:
    copies.put(FIRST, b"first")
    (copies.dumps / ".uploaded").mkdir()
    (copies.dumps / ".uploaded" / FIRST).write_text("s3://another/mysql/ 0123\n")
    assert copies.upload().returncode == 0
    assert copies.stored == {PREFIX + FIRST: b"first"}
