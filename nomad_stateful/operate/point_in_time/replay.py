"""What leads from a snapshot to a point in time: the logs, which of their transactions, and how a drill's job has them.

The official image has no mysqlbinlog, and a replica's applier reads the same files, as its relay log. With GTIDs it
leaves out what the snapshot has, and ends at a given transaction.
https://dev.mysql.com/doc/refman/8.4/en/start-replica.html
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, pairwise

from nomad_stateful.agent.fetch_logs import INDEX, READY
from nomad_stateful.databases.mysql.archive import FOLDER, SHOWN
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.operate.drill.job import FETCH, task_of
from nomad_stateful.operate.drill.model import Json
from nomad_stateful.operate.point_in_time.logs import Contents, Log, PointInTimeError, Stored
from nomad_stateful.operate.point_in_time.timeline import Timeline

SERVER = "mysql"
COPY = "binlogs"
"""The live job's task that copies binary logs, whose image and place in S3 the fetching task has."""
_OTHER_SERVER = 4_294_967_290
"""An applier leaves out what has its own server id."""
# Whatever the live server is told: no transaction is left out, and none that does not fit.
_STRICT = ("exec-mode=STRICT", "skip-errors=OFF")
_LOGS = "${NOMAD_ALLOC_DIR}/data/replay"
_WAIT = f'until [ -e "$NOMAD_ALLOC_DIR/data/replay/{READY}" ]; do sleep 1; done; exec sh "$@"'


@dataclass(frozen=True)
class Replay:
    """What leads from a snapshot to the point in time."""

    bucket: str
    logs: tuple[Log, ...]
    to: datetime
    last: str
    """GTID of the last transaction that is wanted; "" where the logs have none."""
    begins: GtidSet
    """All transactions before the first log: the snapshot has to have them."""
    wanted: GtidSet
    """All transactions up to the last that is wanted: the restored server has to have them."""
    ends: GtidSet
    """All transactions up to the end of the last log: the restored server must have none of these but the wanted."""
    others: tuple[str, ...] = ()
    """Keys between the least and the greatest of the logs' that do not belong to them."""
    after: tuple[tuple[str, str], ...] = ()
    """Keys that are not in the order of the logs, each with the one that it comes after."""

    @property
    def size(self) -> int:
        """Bytes of all logs."""
        return sum(log.size for log in self.logs)


def replay(known: Stored, base: datetime, to: datetime) -> Replay:
    """Returns the logs from `base`, when the snapshot was taken, and the transactions they are applied up to.

    Raises PointInTimeError where they are not all of that time, and botocore's errors.
    """
    if known.until is None or not known.logs:
        raise PointInTimeError(f"there is no binary log in s3://{known.bucket.name}/{known.prefix}{FOLDER}: {_WHY_NOT}")
    if to > known.until:
        raise PointInTimeError(
            f"--to is {to:{SHOWN}}, and the binary logs in S3 reach until {known.until:{SHOWN}}: name a time up to "
            "that (`--to latest` is the last), or wait until they have come further"
        )
    found = Timeline(known, to).since(base)
    last, wanted = _last(found)
    logs = tuple(one.log for one in found)
    keys = [log.key for log in logs]
    least, greatest, own = min(keys), max(keys), frozenset(keys)
    others = tuple(log.key for log in known.logs if least < log.key < greatest and log.key not in own)
    pairs = zip(pairwise(keys), accumulate(keys, max), strict=False)
    after = tuple((key, before) for (before, key), most in pairs if key < most)
    return Replay(known.bucket.name, logs, to, last, found[0].before, wanted, found[-1].ends, others, after)


def _last(logs: Sequence[Contents]) -> tuple[str, GtidSet]:
    """Returns the last transaction that is wanted, and all up to it; most often it is in the very last log."""
    for one in reversed(logs):
        if one.last is not None:
            return str(one.last), one.wanted
    return "", logs[0].before


_WHY_NOT = (
    "it takes up to a minute after the first `up` with mysql.pointInTime; `nomad alloc logs -stderr -task binlogs "
    "ALLOCATION` says what keeps it"
)


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
