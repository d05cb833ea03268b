"""The agent as a container runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from nomad_stateful.agent.binlogs.command import round_of
from tests.providers.moto_account import environment
from tests.unit.agent.world import World


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
    assert (process.returncode, rest) == (0, "")
