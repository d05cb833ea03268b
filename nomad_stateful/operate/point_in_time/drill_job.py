"""Binary logs of MySQL in a drill's job: who fetches them, and how its server applies them as its relay log.

The official image has no mysqlbinlog, and a replica's applier reads the same files. With GTIDs it leaves out what the
snapshot has, and ends at a given transaction. https://dev.mysql.com/doc/refman/8.4/en/start-replica.html
"""

from __future__ import annotations

from nomad_stateful.agent.fetch_logs import INDEX, READY
from nomad_stateful.databases.mysql.archive import FOLDER
from nomad_stateful.operate.drill.job import FETCH, task_of
from nomad_stateful.operate.drill.model import Json
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from nomad_stateful.operate.point_in_time.replay import Replay

SERVER = "mysql"
COPY = "binlogs"
"""The live job's task that copies binary logs, whose image and place in S3 the fetching task has."""
_OTHER_SERVER = 4_294_967_290
"""An applier leaves out what has its own server id."""
# Whatever the live server is told: no transaction is left out, and none that does not fit.
_STRICT = ("exec-mode=STRICT", "skip-errors=OFF")
_LOGS = "${NOMAD_ALLOC_DIR}/data/replay"
_WAIT = f'until [ -e "$NOMAD_ALLOC_DIR/data/replay/{READY}" ]; do sleep 1; done; exec sh "$@"'


def add_logs(job: Json, live: Json, replay: Replay) -> None:
    """Changes the drill's job so that its server has the logs; `live` is the running job. Raises PointInTimeError."""
    tasks = live["TaskGroups"][0]["Tasks"]
    copier = next((task for task in tasks if task["Name"] == COPY), None)
    if copier is None:
        raise PointInTimeError(
            f"job {live['ID']} copies no binary logs, or as an earlier release did: set mysql.pointInTime, and run "
            "`pulumi up`"
        )
    [group] = job["TaskGroups"]
    server = task_of(group["Tasks"], SERVER)
    words = server["Config"]["args"]
    datadir = next(str(word).partition("=")[2] for word in words if str(word).startswith("--datadir="))
    server["Config"]["args"] = [
        *("-c", _WAIT, "sh", *words),
        *(f"--relay-log={_LOGS}/relay", f"--relay-log-index={_LOGS}/{INDEX}"),
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
    group["Tasks"].insert(0, _logs_fetcher(copier, server, datadir, replay))
    group["EphemeralDisk"] = {"SizeMB": 300 + replay.size * 11 // 10 // (1 << 20)}


def _name(key: str) -> str:
    return key.rpartition(FOLDER)[2]


def _logs_fetcher(copier: Json, server: Json, datadir: str, replay: Replay) -> Json:
    keys = [log.key for log in replay.logs]
    first, last, *others = (_name(key) for key in (min(keys), max(keys), *replay.others))
    arguments = [
        *(word for word in copier["Config"]["args"] if str(word).startswith(("--bucket=", "--prefix="))),
        f"--first={first}",
        f"--last={last}",
        f"--count={len(replay.logs)}",
        *(f"--except={name}" for name in others),
        *(f"--after={_name(before)}:{_name(key)}" for key, before in replay.after),
        f"--into={_LOGS}",
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
