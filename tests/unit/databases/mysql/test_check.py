"""What a drill's check says of a server that was restored."""

from __future__ import annotations

import subprocess
from pathlib import Path

from nomad_stateful.databases.mysql.operations import DRILL
from tests.programs import make_program

STALE = """#!/bin/sh
case "$*" in
  *VERSION*) echo 9.7.4 ;;
  *GTID_SUBSET*) echo 0 ;;
esac
"""
"""A client of a server that lacks all of what it is asked for."""


def test_a_snapshot_of_a_member_that_was_down_has_an_earlier_one_or_anothers_as_its_remedy(tmp_path: Path) -> None:
    """A later one has the same rows while the member stays down."""
    make_program(tmp_path / "mysql", STALE)
    env = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        **dict.fromkeys(("NOMAD_SECRETS_DIR", "NOMAD_TASK_DIR"), str(tmp_path)),
        "TLS_MYSQL": "--ssl-mode=DISABLED",
        "DRILL_PATIENCE": "1",
        "REPLAY_TO": "2026-11-22T10:08:30+00:00",
        "REPLAY_BEGINS": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-30",
    }
    done = subprocess.run(["sh", "-c", DRILL.script], env=env, capture_output=True, text=True, check=False)
    said = done.stdout.splitlines()[-1].split("\t")
    assert (done.returncode, said[:2]) == (1, ["drill", "unreplayed"])
    assert "Of a group" in said[2]
    assert said[2].endswith("from an earlier one, or from one of another member's volume")
