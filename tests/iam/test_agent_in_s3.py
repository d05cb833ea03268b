"""What the agent asks of S3, by its own commands: the clients' policies allow all of it."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.agent import fetch_dump, fetch_logs, upload_dumps
from nomad_stateful.databases.mysql.archive import FOLDER, UNTIL
from nomad_stateful.drivers.dump_policy import policy
from nomad_stateful.ebs import bucket
from nomad_stateful.ebs.bucket import Bucket
from tests.iam.evaluator import Request, judge
from tests.providers.moto_account import moto
from tests.unit.agent.world import BUCKET, PLACE, PREFIX, FakeServer, World, client_of, emptied, fault

ARN = f"arn:aws:s3:::{BUCKET}"
SCOPE = {"partition": "aws", "region": "us-west-2"}
OF_LOGS = policy(BUCKET, PREFIX, replaced=f"{FOLDER}{UNTIL}", **SCOPE)
OF_DUMPS = policy(BUCKET, PREFIX, **SCOPE)
LARGE = bytes(12 << 20)
PARTS = frozenset({"CreateMultipartUpload", "UploadPart"})
READS = frozenset({"GetObject", "HeadObject"})
WRITES = frozenset({"PutObject", "CompleteMultipartUpload"})
IN_PARTS = PARTS | {"CompleteMultipartUpload", "AbortMultipartUpload"}
Call = tuple[str, Mapping[str, Any]]


def asked(verb: str, said: Mapping[str, Any]) -> Request:
    """A call as S3 asks IAM about it."""
    if verb == "ListObjectsV2":
        return Request("s3:ListBucket", ARN, {"s3:prefix": said["Prefix"]})
    place = f"{ARN}/{said['Key']}"
    if verb == "AbortMultipartUpload":
        return Request("s3:AbortMultipartUpload", place)
    if verb in PARTS | WRITES:
        named = {"s3:if-match": "IfMatch", "s3:if-none-match": "IfNoneMatch"}
        conditions = {key: said[name] for key, name in named.items() if name in said}
        new = {"s3:ObjectCreationOperation": "true" if verb in WRITES else "false"}
        return Request("s3:PutObject", place, {**conditions, **new})
    assert verb in READS, verb
    return Request("s3:GetObject", place)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An empty bucket, which takes less in one request than S3 does; the agent's commands find it."""
    monkeypatch.setattr(bucket, "_LARGEST_PUT", 1 << 20)
    monkeypatch.setattr(bucket, "_PART", 5 << 20)
    with moto() as url:
        client = emptied(client_of(url))
        monkeypatch.setattr(Bucket, "connect", lambda name: Bucket(client, name))
        yield client


@pytest.fixture
def calls(s3: Any) -> list[Call]:
    """What is asked of S3 from now on."""
    made: list[Call] = []

    def note(params: Mapping[str, Any], model: Any, **_: Any) -> None:
        made.append((model.name, dict(params)))

    s3.meta.events.register_first("before-parameter-build.s3", note)
    return made


def run(command: ModuleType, *words: str) -> None:
    """Runs one of the agent's commands."""
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    command.run(parser.parse_args([f"--bucket={BUCKET}", f"--prefix={PREFIX}", *words]))


def allowed(document: Mapping[str, Any], calls: list[Call]) -> bool:
    requests = [asked(*call) for call in calls]
    return judge([document], requests) == [[True] * len(requests)]


def verbs(calls: list[Call]) -> set[str]:
    return {verb for verb, _ in calls}


def test_copies_of_logs(s3: Any, calls: list[Call], tmp_path: Path) -> None:
    server = FakeServer(tmp_path / "data")
    server.start()
    world = World(server, s3)
    world.commits(1, 1)
    # A log that goes in parts, once in vain, once without an answer.
    server.commit()
    server.rows(len(LARGE))
    for done in (False, True):
        with fault(s3, "CompleteMultipartUpload", done=done), pytest.raises((ClientError, BotoCoreError)):
            world.round()
    world.round()
    # One that another server's is in the place of, and a server that S3 says nothing of.
    server.commit()
    server.close_log()
    s3.put_object(Bucket=BUCKET, Key=world.key(server.number - 1), Body=b"x", IfNoneMatch="*")
    world.remove_until()
    calls[:] = [call for call in calls if call[0] != "DeleteObject"]
    world.restart("two")
    said = world.commits(1)
    assert said.gtids == server.executed
    assert verbs(calls) == {"ListObjectsV2", "PutObject", *READS, *IN_PARTS}
    writes = [said for verb, said in calls if verb in WRITES]
    replaced = [one["Key"] for one in writes if "IfMatch" in one]
    assert set(replaced) == {PLACE + UNTIL}
    assert allowed(OF_LOGS, calls)
    assert not allowed(OF_DUMPS, calls)


def test_logs_that_a_drill_fetches(s3: Any, calls: list[Call], tmp_path: Path) -> None:
    server = FakeServer(tmp_path / "data")
    server.start()
    world = World(server, s3)
    world.commits(1, 1)
    del calls[:]
    first, last = (world.key(number).removeprefix(PLACE) for number in (1, 2))
    words = [f"--first={first}", f"--last={last}", "--count=2", f"--into={tmp_path / 'replay'}"]
    run(fetch_logs, *words, f"--datadir={tmp_path}", f"--owner={os.getuid()}")
    assert verbs(calls) == {"ListObjectsV2", "HeadObject", "GetObject"}
    assert allowed(OF_LOGS, calls)


def test_dumps_that_go_there(s3: Any, calls: list[Call], tmp_path: Path) -> None:
    (tmp_path / "20260101T030000Z.sql.gz").write_bytes(b"rows")
    large = tmp_path / "20260102T030000Z.sql.gz"
    large.write_bytes(LARGE)
    with fault(s3, "UploadPart"), pytest.raises(ClientError):
        run(upload_dumps, f"--folder={tmp_path}")
    run(upload_dumps, f"--folder={tmp_path}")
    # With their notes, and as after answers that were lost.
    run(upload_dumps, f"--folder={tmp_path}")
    shutil.rmtree(tmp_path / ".uploaded")
    run(upload_dumps, f"--folder={tmp_path}")
    assert verbs(calls) == {"PutObject", *READS, *IN_PARTS}
    assert allowed(OF_DUMPS, calls)


@pytest.mark.parametrize("name", ["latest", "20260101T030000Z.sql.gz"])
def test_a_dump_that_comes_back(
    s3: Any, calls: list[Call], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for one in ("20260101T030000Z.sql.gz", "20260102T030000Z.sql.gz"):
        (tmp_path / one).write_bytes(b"rows")
    run(upload_dumps, f"--folder={tmp_path}")
    del calls[:]
    monkeypatch.setenv("NOMAD_META_FROM", "s3")
    monkeypatch.setenv("NOMAD_META_DUMP", name)
    run(fetch_dump, f"--folder={tmp_path}")
    assert len(list((tmp_path / ".fetched").iterdir())) == 1
    assert verbs(calls) == {"ListObjectsV2", *READS}
    assert allowed(OF_DUMPS, calls)
