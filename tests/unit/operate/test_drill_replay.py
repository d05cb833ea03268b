"""The drill's job with binary logs: who fetches them, and how its server is told."""

from __future__ import annotations

import copy
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.databases.mysql.gtids import GtidSet
from operate.drill import replay
from operate.point_in_time.logs import PointInTimeError
from operate.point_in_time.replay import Replay
from tests.unit.databases.mysql.test_binlog import SOURCE
from tests.unit.operate.point_in_time.test_logs import at, one

COPIER: dict[str, Any] = {
    "Name": "binlog-copy",
    "Driver": "docker",
    "Config": {"image": "aws-cli:2", "entrypoint": ["sh"], "args": ["copy.sh"]},
    "Env": {"BUCKET": "b", "PREFIX": "dev/binlogs/", "AWS_REGION": "us-west-2", "OTHER": "x"},
    "Resources": {"MemoryMB": 256},
}
LIVE: dict[str, Any] = {"ID": "mysql-server", "TaskGroups": [{"Tasks": [{"Name": "mysql"}, COPIER]}]}
MOUNTS = [{"Volume": "data", "Destination": "/srv", "ReadOnly": False}]
DRILL: dict[str, Any] = {
    "TaskGroups": [
        {
            "Tasks": [
                {
                    "Name": "mysql",
                    "Config": {"command": "sh", "args": ["start.sh", "--datadir=/srv/mysql"]},
                    "Env": {"START_UID": "999"},
                    "VolumeMounts": MOUNTS,
                },
                {"Name": "check", "Env": {"DRILL_PATIENCE": "60"}},
            ]
        }
    ]
}
WANTED = Replay(
    "b",
    (one(7, 7, 200 << 20), one(8, 8, 100 << 20)),
    at(8.5),
    last=f"{SOURCE}:40",
    begins=GtidSet.parse(f"{SOURCE}:1-30"),
    wanted=GtidSet.parse(f"{SOURCE}:1-40"),
    ends=GtidSet.parse(f"{SOURCE}:1-45"),
    others=(f"{one(7, 7).key}-50",),
)


def added() -> tuple[dict[str, Any], ...]:
    """Fetcher, server, check and group of the job."""
    job = copy.deepcopy(DRILL)
    replay.add(job, copy.deepcopy(LIVE), WANTED)
    [group] = job["TaskGroups"]
    return (*group["Tasks"], group)


def test_the_logs_are_fetched_as_the_live_job_copies_them_before_the_server_starts() -> None:
    fetcher, server, _, group = added()
    assert (fetcher["Config"]["image"], fetcher["Lifecycle"]) == ("aws-cli:2", {"Hook": "prestart", "Sidecar": False})
    assert {"BUCKET": "b", "AWS_REGION": "us-west-2", "REPLAY_UID": "999", "REPLAY_COUNT": "2"}.items() <= (
        fetcher["Env"].items()
    )
    assert "OTHER" not in fetcher["Env"]
    assert (fetcher["Env"]["REPLAY_FIRST"], fetcher["Env"]["REPLAY_DATADIR"]) == (
        "20261122T100700Z-binlog.000007",
        "/srv/mysql",
    )
    assert fetcher["VolumeMounts"] == MOUNTS
    assert group["EphemeralDisk"]["SizeMB"] >= 300 + 300
    assert server["Config"]["args"][0] == "-c"
    assert server["Config"]["args"][3:5] == ["start.sh", "--datadir=/srv/mysql"]


def test_the_server_applies_them_as_another_servers_and_writes_no_second_log() -> None:
    _, server, check, _ = added()
    options = dict(word.split("=", 1) for word in server["Config"]["args"] if word.startswith("--"))
    assert options["--relay-log-index"].endswith("/data/replay/relay.index")
    assert int(options["--server-id"]) > 1
    assert options["--log-replica-updates"] == "OFF"
    assert check["Env"] == {
        "DRILL_PATIENCE": "60",
        "REPLAY_TO": "2026-11-22T10:08:30+00:00",
        "REPLAY_LAST_GTID": f"{SOURCE}:40",
        "REPLAY_BEGINS": f"{SOURCE}:1-30",
        "REPLAY_WANTED": f"{SOURCE}:1-40",
        "REPLAY_ENDS": f"{SOURCE}:1-45",
    }


def test_a_server_that_copies_no_logs_yet_is_refused() -> None:
    with pytest.raises(PointInTimeError, match=r"job mysql-server copies no binary logs: set mysql.pointInTime"):
        replay.add(copy.deepcopy(DRILL), {"ID": "mysql-server", "TaskGroups": [{"Tasks": []}]}, WANTED)


AWS = """#!/bin/sh
case $1 in
  s3api) cat "$BUCKET" ;;
  s3) while IFS= read -r key; do : >"$6${key#"$PREFIX"}"; done <"$BUCKET" ;;
esac
"""
FOREIGN = "20261122T100730Z-b|e echo it ran >&2; #.000007"


def fetched(folder: Path, listed: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    """Runs the fetcher's script with an AWS CLI that has keys in a file, and copies empty logs."""
    fetcher, *_ = added()
    (folder / "aws").write_text(AWS)
    (folder / "aws").chmod(0o755)
    (folder / "bucket").write_text("".join(f"dev/binlogs/{name}\n" for name in listed))
    own = {"BUCKET": f"{folder}/bucket", "NOMAD_ALLOC_DIR": str(folder), "REPLAY_DATADIR": str(folder)}
    path = {"PATH": f"{folder}:{os.environ['PATH']}", "REPLAY_UID": str(os.getuid())}
    words = ["sh", "-c", fetcher["Templates"][0]["EmbeddedTmpl"]]
    return subprocess.run(
        words, env={**fetcher["Env"], **own, **path, **env}, capture_output=True, text=True, check=False
    )


def names(*logs: Any) -> list[str]:
    return [log.key.removeprefix("dev/binlogs/") for log in logs]


def test_of_what_is_in_s3_the_logs_between_two_are_fetched_in_order(tmp_path: Path) -> None:
    wanted = names(one(7, 7), one(8, 8))
    others = ["until", f"{wanted[0]}-50", FOREIGN, *names(one(6, 6), one(9, 9))]
    done = fetched(tmp_path, [*wanted, *others])
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "data/replay"
    assert (folder / "wanted").read_text().split() == wanted
    assert (folder / "relay.index").read_text().split() == [f"{folder}/relay.00000{n}" for n in (1, 2)]


@pytest.mark.parametrize("name", ["REPLAY_FIRST", "REPLAY_LAST", "REPLAY_OTHERS"])
def test_a_name_in_s3_is_no_command(tmp_path: Path, name: str) -> None:
    done = fetched(tmp_path, [FOREIGN, *names(one(7, 7), one(8, 8), one(9, 9))], **{name: FOREIGN})
    assert "it ran" not in done.stderr
    assert (done.returncode == 0) == (name == "REPLAY_OTHERS")
