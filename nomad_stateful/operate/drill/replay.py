"""The drill's job with the binary logs: a task that fetches them, and a server that applies them as its relay log.

The official image has no mysqlbinlog. A replica's applier reads the same files: with GTIDs it leaves out what the
snapshot has, and ends at a given transaction.
https://dev.mysql.com/doc/refman/8.4/en/start-replica.html
"""

from __future__ import annotations

from typing import Any

from nomad_stateful.agent.fetch_logs import INDEX, READY
from nomad_stateful.databases.mysql.archive import FOLDER
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from nomad_stateful.operate.point_in_time.replay import Replay

Json = dict[str, Any]
FETCH = "fetch"
"""The task that fetches the logs."""
COPY = "binlogs"
"""The live job's task that copies them, whose image and place in S3 this has."""
_MIB = 1 << 20
_OTHER_SERVER = 4_294_967_290
"""An applier leaves out what has its own server id."""
# Whatever the live server is told: no transaction is left out, and none that does not fit.
_STRICT = ("exec-mode=STRICT", "skip-errors=OFF")
_READY = f"$NOMAD_ALLOC_DIR/data/replay/{READY}"
_WAIT = f'until [ -e "{_READY}" ]; do sleep 1; done; exec sh "$@"'

_FOLDER = "${NOMAD_ALLOC_DIR}/data/replay"


def add(job: Json, live: Json, replay: Replay) -> None:
    """Changes the drill's job so that its server has the logs; `live` is the running job. Raises PointInTimeError."""
    tasks = live["TaskGroups"][0]["Tasks"]
    copier = next((task for task in tasks if task["Name"] == COPY), None)
    if copier is None:
        raise PointInTimeError(
            f"job {live['ID']} copies no binary logs, or as an earlier release did: set mysql.pointInTime, and run "
            "`pulumi up`"
        )
    [group] = job["TaskGroups"]
    server = next(task for task in group["Tasks"] if task["Name"] == "mysql")
    words = server["Config"]["args"]
    datadir = next(str(word).partition("=")[2] for word in words if str(word).startswith("--datadir="))
    server["Config"]["args"] = [
        *("-c", _WAIT, "sh", *words),
        *(f"--relay-log={_FOLDER}/relay", f"--relay-log-index={_FOLDER}/{INDEX}"),
        *(f"--server-id={_OTHER_SERVER}", "--relay-log-recovery=OFF", "--log-replica-updates=OFF"),
        *(f"--loose-{name}-{option}" for name in ("replica", "slave") for option in _STRICT),
    ]
    checker = group["Tasks"][-1]
    checker["Env"] |= {
        "REPLAY_TO": replay.to.isoformat(),
        "REPLAY_LAST_GTID": replay.last,
        "REPLAY_BEGINS": str(replay.begins),
        "REPLAY_WANTED": str(replay.wanted),
        "REPLAY_ENDS": str(replay.ends),
    }
    group["Tasks"].insert(0, _fetcher(copier, server, datadir, replay))
    group["EphemeralDisk"] = {"SizeMB": 300 + replay.size * 11 // 10 // _MIB}


def _fetcher(copier: Json, server: Json, datadir: str, replay: Replay) -> Json:
    arguments = [
        *(word for word in copier["Config"]["args"] if str(word).startswith(("--bucket=", "--prefix="))),
        f"--first={_name(replay.logs[0].key)}",
        f"--last={_name(replay.logs[-1].key)}",
        f"--count={len(replay.logs)}",
        *(f"--except={_name(key)}" for key in replay.others),
        f"--into={_FOLDER}",
        f"--datadir={datadir}",
        f"--owner={(server.get('Env') or {}).get('START_UID') or 0}",
    ]
    return {
        "Name": FETCH,
        "Driver": copier["Driver"],
        "User": copier.get("User") or "",
        "Lifecycle": {"Hook": "prestart", "Sidecar": False},
        "Config": {**copier["Config"], "args": ["fetch-logs", *arguments]},
        "Env": dict(copier["Env"]),
        "VolumeMounts": server["VolumeMounts"],
        "Resources": {"CPU": 100, "MemoryMB": copier["Resources"]["MemoryMB"]},
    }


def _name(key: str) -> str:
    return key.rpartition(FOLDER)[2]
