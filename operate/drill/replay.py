"""The drill's job with the binary logs: a task that fetches them, and a server that applies them as its relay log.

The official image has no mysqlbinlog. A replica's applier reads the same files: with GTIDs it leaves out what the
snapshot has, and ends at a given transaction.
https://dev.mysql.com/doc/refman/8.4/en/start-replica.html
"""

from __future__ import annotations

from typing import Any

from nomad_stateful.databases.mysql.archive import FOLDER
from operate.drill.job import file
from operate.point_in_time.logs import PointInTimeError
from operate.point_in_time.replay import Replay

Json = dict[str, Any]
FETCH = "fetch"
"""The task that fetches the logs."""
COPY = "binlog-copy"
"""The live job's task that copies them, whose image and place in S3 this has."""
_MIB = 1 << 20
_OTHER_SERVER = 4_294_967_290
"""An applier leaves out what has its own server id."""
# Whatever the live server is told: no transaction is left out, and none that does not fit.
_STRICT = ("exec-mode=STRICT", "skip-errors=OFF")
_KEPT_ENV = (
    *("BUCKET", "PREFIX", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_PAGER", "AWS_RETRY_MODE"),
    *("AWS_MAX_ATTEMPTS", "AWS_METADATA_SERVICE_NUM_ATTEMPTS", "AWS_METADATA_SERVICE_TIMEOUT"),
)
_READY = "$NOMAD_ALLOC_DIR/data/replay/ready"
_WAIT = f'until [ -e "{_READY}" ]; do sleep 1; done; exec sh "$@"'

# Of what is in S3 only names of logs get any further, and they are compared as they are: they are no patterns.
_SCRIPT = r"""set -euf
umask 077
export LC_ALL=C
fail() { echo "$*" >&2; exit 1; }
[ -n "${AWS_ENDPOINT_URL_S3:-}" ] || unset AWS_ENDPOINT_URL_S3
place=s3://$BUCKET/$PREFIX
folder=$NOMAD_ALLOC_DIR/data/replay
mkdir -p "$folder/fetched"
aws s3api list-objects-v2 --bucket "$BUCKET" --prefix "$PREFIX" --query 'Contents[].Key' --output text |
  tr '\t' '\n' | while IFS= read -r key; do printf '%s\n' "${key#"$PREFIX"}"; done | sort >"$folder/listed"
printf '%s\n' $REPLAY_OTHERS - >"$folder/others"
inside=
while IFS= read -r name; do
  [ "$name" != "$REPLAY_FIRST" ] || inside=yes
  [ -z "$inside" ] || printf '%s\n' "$name"
  [ "$name" != "$REPLAY_LAST" ] || break
done <"$folder/listed" | grep -xE '[0-9]{8}T[0-9]{6}Z-[A-Za-z0-9_-]+[.][0-9]{6,}(-[0-9]+)?' |
  grep -vxF -f "$folder/others" >"$folder/wanted" || true
[ "$(grep -c . "$folder/wanted")" = "$REPLAY_COUNT" ] || fail "$place has other logs than a moment ago: begin again"
# Of the first and the last hour only the minutes: other hours are wanted whole.
first=$(printf %.11s "$REPLAY_FIRST")
last=$(printf %.11s "$REPLAY_LAST")
set --
for some in $(grep -e "^$first" -e "^$last" "$folder/wanted" | cut -c 1-13 | sort -u) \
  $(cut -c 1-11 "$folder/wanted" | sort -u | grep -vxF -e "$first" -e "$last"); do
  set -- "$@" --include "$some*"
done
aws s3 cp --recursive --only-show-errors "$place" "$folder/fetched/" --exclude '*' "$@"
number=0
: >"$folder/relay.index"
while IFS= read -r name; do
  number=$((number + 1))
  relay=$folder/relay.$(printf %06d "$number")
  mv "$folder/fetched/$name" "$relay"
  echo "$relay" >>"$folder/relay.index"
done <"$folder/wanted"
rm -rf "$folder/fetched"
# Otherwise the transactions of this server and of the old one after the point in time had the same names.
rm -f "$REPLAY_DATADIR/auto.cnf"
[ "$(id -u)" != 0 ] || chown -R "$REPLAY_UID" "$folder"
touch "$folder/ready"
echo "$number logs are fetched from $place"
"""


def add(job: Json, live: Json, replay: Replay) -> None:
    """Changes the drill's job so that its server has the logs; `live` is the running job. Raises PointInTimeError."""
    tasks = live["TaskGroups"][0]["Tasks"]
    copier = next((task for task in tasks if task["Name"] == COPY), None)
    if copier is None:
        raise PointInTimeError(f"job {live['ID']} copies no binary logs: set mysql.pointInTime, and run `pulumi up`")
    [group] = job["TaskGroups"]
    server = next(task for task in group["Tasks"] if task["Name"] == "mysql")
    words = server["Config"]["args"]
    datadir = next(str(word).partition("=")[2] for word in words if str(word).startswith("--datadir="))
    folder = "${NOMAD_ALLOC_DIR}/data/replay"
    server["Config"]["args"] = [
        *("-c", _WAIT, "sh", *words),
        *(f"--relay-log={folder}/relay", f"--relay-log-index={folder}/relay.index"),
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
    docker = copier["Driver"] == "docker"
    script = "${NOMAD_TASK_DIR}/fetch.sh"
    words = {"args": [script]} if docker else {"command": "/bin/sh", "args": [script]}
    env = {name: copier["Env"][name] for name in _KEPT_ENV if name in copier["Env"]}
    own = {
        "REPLAY_DATADIR": datadir,
        "REPLAY_UID": str((server.get("Env") or {}).get("START_UID") or 0),
        "REPLAY_FIRST": _name(replay.logs[0].key),
        "REPLAY_LAST": _name(replay.logs[-1].key),
        "REPLAY_COUNT": str(len(replay.logs)),
        "REPLAY_OTHERS": " ".join(map(_name, replay.others)),
    }
    return {
        "Name": FETCH,
        "Driver": copier["Driver"],
        "User": copier.get("User") or "",
        "Lifecycle": {"Hook": "prestart", "Sidecar": False},
        "Config": {**copier["Config"], **words},
        "Env": {**env, **own},
        "Templates": [file("local/fetch.sh", _SCRIPT)],
        "VolumeMounts": server["VolumeMounts"],
        "Resources": {"CPU": 100, "MemoryMB": copier["Resources"]["MemoryMB"]},
    }


def _name(key: str) -> str:
    return key.rpartition(FOLDER)[2]
