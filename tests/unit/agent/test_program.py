"""The agent's commands as a task runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.providers.moto_account import clients, environment, moto
from tests.unit.agent.world import BUCKET, emptied

NAME = "20260101T030000Z.sql.gz"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with moto() as url:
        emptied(clients(url).s3)
        yield url


def agent(url: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    known = {**environment(url), "PATH": os.environ["PATH"], "AWS_ENDPOINT_URL_S3": "", **env}
    command = [sys.executable, "-m", "nomad_stateful.agent", *words]
    return subprocess.run(command, env=known, capture_output=True, text=True, check=False, timeout=120)


def place(folder: Path) -> tuple[str, ...]:
    return f"--folder={folder}", f"--bucket={BUCKET}", "--prefix=mysql/"


def test_a_restore_from_the_volume_fetches_nothing(url: str, tmp_path: Path) -> None:
    done = agent(url, "fetch-dump", *place(tmp_path), NOMAD_META_DUMP="latest", NOMAD_META_FROM="volume")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_dump_goes_there_and_back_readable_by_its_owner_alone(url: str, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"rows")
    done = agent(url, "upload-dumps", *place(tmp_path))
    assert done.returncode == 0, done.stderr
    # Launched a second after the dump's run: later dumps are not this restore's.
    done = agent(
        url,
        *("fetch-dump", *place(tmp_path)),
        NOMAD_META_DUMP="latest",
        NOMAD_META_FROM="s3",
        NOMAD_JOB_ID="restore/dispatch-1767236401-0a1b2c3d",
    )
    assert done.returncode == 0, done.stderr
    fetched = tmp_path / ".fetched" / NAME
    assert fetched.read_bytes() == b"rows"
    assert fetched.stat().st_mode & 0o077 == 0


def test_what_cannot_be_done_is_a_sentence_and_no_traceback(url: str, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"rows")
    gone = agent(url, "fetch-dump", *place(tmp_path), NOMAD_META_DUMP="none", NOMAD_META_FROM="s3")
    lost = agent(url, "upload-dumps", *place(tmp_path), AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    assert (gone.returncode, lost.returncode) == (1, 1)
    assert gone.stderr.startswith(f"error: there is no dump none in s3://{BUCKET}/mysql/")
    assert lost.stderr == "error: Unable to locate credentials\n"
    assert not (tmp_path / ".uploaded").exists()


@pytest.mark.parametrize("words", [[], ["binlog-copy"]])
def test_another_command_is_told_with_those_that_there_are(words: list[str]) -> None:
    done = agent("http://127.0.0.1:1", *words)
    assert done.returncode == 2
    assert "fetch-dump" in done.stderr
