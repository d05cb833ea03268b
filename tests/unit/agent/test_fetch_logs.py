"""Which binary logs a drill gets, in which order, and for whom."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.agent import fetch_logs
from nomad_stateful.agent.errors import AgentError
from nomad_stateful.ebs.bucket import Bucket
from tests.unit.agent.world import BUCKET, PLACE, PREFIX

FIRST, SECOND, THIRD = (f"20261122T1007{number}0Z-binlog.00000{number}" for number in (1, 2, 3))
# Of the server's time, and of another one's.
OTHER = f"{FIRST}-50"
FOREIGN = "20261122T100715Z-b|e echo it ran >&2; #.000007"


@pytest.fixture
def folder(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The server's data directory, and below it where the logs go; S3 has logs and other things."""
    for name in (FIRST, SECOND, THIRD, OTHER, FOREIGN, "until"):
        s3.put_object(Bucket=BUCKET, Key=PLACE + name, Body=name.encode())
    monkeypatch.setattr(Bucket, "connect", lambda name: Bucket(s3, name))
    (tmp_path / "auto.cnf").write_text("[auto]\n")
    return tmp_path


def fetch(folder: Path, *more: str, last: str = SECOND, count: int = 2) -> list[bytes]:
    """What the server's index of relay logs names."""
    parser = argparse.ArgumentParser()
    fetch_logs.arguments(parser)
    words = [f"--bucket={BUCKET}", f"--prefix={PREFIX}", f"--first={FIRST}", f"--last={last}", f"--count={count}"]
    words += [f"--into={folder / 'replay'}", f"--datadir={folder}", f"--owner={os.getuid()}", *more]
    fetch_logs.run(parser.parse_args(words))
    return [Path(line).read_bytes() for line in (folder / "replay/relay.index").read_text().split()]


def test_the_logs_between_two_are_fetched_in_order_without_those_of_others(folder: Path) -> None:
    assert fetch(folder, f"--except={OTHER}") == [FIRST.encode(), SECOND.encode()]
    assert (folder / "replay/ready").exists()
    # Otherwise the old server's transactions and this one's had the same names.
    assert not (folder / "auto.cnf").exists()


@pytest.mark.parametrize(("last", "count"), [(SECOND, 1), (THIRD, 3), (THIRD, 5)])
def test_other_logs_than_were_judged_are_not_replayed(folder: Path, last: str, count: int) -> None:
    with pytest.raises(AgentError, match="has other logs than a moment ago: begin again"):
        fetch(folder, *(["--except=" + OTHER] if count == 1 else []), last=last, count=count)
    assert not (folder / "replay/ready").exists()


def test_logs_of_several_servers_come_in_the_order_that_is_named(folder: Path) -> None:
    words = [f"--except={OTHER}", f"--after={THIRD}:{SECOND}"]
    assert fetch(folder, *words, last=THIRD, count=3) == [FIRST.encode(), THIRD.encode(), SECOND.encode()]


def test_a_second_try_begins_anew(folder: Path) -> None:
    for _ in range(2):
        assert len(fetch(folder, f"--except={OTHER}")) == 2


def test_a_name_that_is_no_logs_is_never_fetched(folder: Path) -> None:
    assert fetch(folder, last=THIRD, count=4) == [name.encode() for name in (FIRST, OTHER, SECOND, THIRD)]
