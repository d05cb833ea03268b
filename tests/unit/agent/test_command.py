"""The agent as a container runs it."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.agent import binlogs
from nomad_stateful.agent.binlogs import round_of
from nomad_stateful.ebs.bucket import Bucket
from tests.providers.moto_account import environment
from tests.unit.agent.world import BUCKET, PREFIX, World


def test_a_round_says_why_until_stays_and_when_it_is_tried_again(world: World) -> None:
    world.server.commit()
    assert round_of(world.copier, 30) == ("", 30)
    world.server.wrong = {"log_bin": "OFF"}
    why, pause = round_of(world.copier, 30)
    assert ("runs with log_bin=OFF" in why, pause) == (True, 30)
    world.server.away = True
    assert round_of(world.copier, 30) == (
        "the binary logs cannot be copied; they stay on the volume: no server",
        5,
    )


def test_moments_are_of_whole_seconds_before_the_server_is_asked(world: World) -> None:
    world.server.commit()
    round_of(world.copier, 30)
    until = world.until
    assert until
    assert (until.moment.microsecond, until.moment.utcoffset()) == (0, timedelta())


class Ended(Exception):
    """The task is ended."""


def test_why_until_stays_is_told_once_and_that_it_moves_again(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changes: list[dict[str, Any]] = [
        {"away": True},
        {},
        {"away": False, "wrong": {"log_bin": "OFF"}},
        {},
        {"wrong": {}},
        {},
    ]
    rounds = iter(changes)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        change = next(rounds, None)
        if change is None:
            raise Ended
        vars(world.server).update(change)

    def repeated(once: Callable[[], float]) -> None:
        while True:
            pause(once())

    world.server.commit()
    monkeypatch.setenv("NOMAD_ALLOC_ID", "one")
    monkeypatch.setattr(binlogs, "repeat", repeated)
    monkeypatch.setattr(binlogs, "MySqlServer", lambda _, **_in_group: world.server)
    monkeypatch.setattr(Bucket, "connect", lambda name: Bucket(world.s3, name))
    parser = argparse.ArgumentParser()
    binlogs.arguments(parser)
    words = [f"--datadir={world.server.datadir}", "--options=none", f"--bucket={BUCKET}", f"--prefix={PREFIX}"]
    with pytest.raises(Ended):
        binlogs.run(parser.parse_args(words))
    away, wrong, again = capsys.readouterr().err.splitlines()
    assert away == "the binary logs cannot be copied; they stay on the volume: no server"
    assert wrong.startswith("the binary logs do not reach further, since the server runs with log_bin=OFF and needs")
    assert again == "the binary logs are copied again"
    assert pauses == [30, 5, 5, 30, 30, 30, 30]
    assert world.until is not None
    assert world.until.writer == "one"


def test_it_ends_when_it_is_told_to(tmp_path: Path) -> None:
    """Also as the first process of a container, which has no default for SIGTERM."""
    options = tmp_path / "client.cnf"
    options.write_text(f"[client]\nuser = binlogs\nsocket = {tmp_path}/none.sock\npassword = x\n")
    words = ["--datadir", str(tmp_path), "--options", str(options), "--bucket", "b", "--prefix", "p/"]
    command = [sys.executable, "-m", "nomad_stateful.agent", "binlogs", *words]
    env = {**environment("http://127.0.0.1:1"), "PATH": os.environ["PATH"]}
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    assert "they stay on the volume: 2003" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=60)
    # 128 and the signal: whatever ends a command that copies, the copy is not there.
    assert (process.returncode, rest) == (143, "")
