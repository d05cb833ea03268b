"""The drill's job with binary logs: who fetches them, and how its server is told."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from nomad_stateful.operate.point_in_time.replay import Replay, add_logs
from tests.unit.databases.mysql.test_binlog import SOURCE
from tests.unit.operate.point_in_time.test_logs import at, one

COPIER: dict[str, Any] = {
    "Name": "binlogs",
    "Driver": "docker",
    "User": "999",
    "Config": {
        "image": "agent:1",
        "args": ["binlogs", "--datadir=/srv/mysql", "--bucket=b", "--prefix=dev/", "--interval=30"],
        "readonly_rootfs": True,
    },
    "Env": {"AWS_REGION": "us-west-2"},
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
    add_logs(job, copy.deepcopy(LIVE), WANTED)
    [group] = job["TaskGroups"]
    return (*group["Tasks"], group)


def test_the_logs_are_fetched_as_the_live_job_copies_them_before_the_server_starts() -> None:
    fetcher, server, _, group = added()
    assert (fetcher["Config"]["image"], fetcher["Config"]["readonly_rootfs"]) == ("agent:1", True)
    assert (fetcher["User"], fetcher["Env"]) == ("999", {"AWS_REGION": "us-west-2"})
    assert fetcher["Lifecycle"] == {"Hook": "prestart", "Sidecar": False}
    assert fetcher["Config"]["args"] == [
        "fetch-logs",
        "--bucket=b",
        "--prefix=dev/",
        "--first=20261122T100700Z-binlog.000007",
        "--last=20261122T100800Z-binlog.000008",
        "--count=2",
        "--except=20261122T100700Z-binlog.000007-50",
        "--into=${NOMAD_ALLOC_DIR}/data/replay",
        "--datadir=/srv/mysql",
        "--owner=999",
    ]
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
    with pytest.raises(
        PointInTimeError, match=r"job mysql-server copies no binary logs, or as an earlier release did: set"
    ):
        add_logs(copy.deepcopy(DRILL), {"ID": "mysql-server", "TaskGroups": [{"Tasks": []}]}, WANTED)
