"""The drill's job: the consumer's own, with another id, namespace and volume, that no client finds and that ends.

To fill an empty server with a dump, it gets the tasks of the stack's job that restores dumps. To apply binary logs, it
gets a task that fetches them, and its server applies them as its relay log: the official image has no mysqlbinlog, and
a replica's applier reads the same files. With GTIDs it leaves out what the snapshot has, and ends at a given
transaction. https://dev.mysql.com/doc/refman/8.4/en/start-replica.html
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from pathlib import Path

from nomad_stateful import jobspec
from nomad_stateful.agent.fetch_logs import INDEX, READY
from nomad_stateful.databases.mysql.archive import FOLDER
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.operate.drill.model import DrillError, Dump, Json, Target
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from nomad_stateful.operate.point_in_time.replay import Replay

SERVER = "mysql"
FETCH = "fetch"
"""The task that fetches the dump or the binary logs."""
CHECK = "check"
"""The task whose end is the drill's."""
CHECK_SCRIPT = Path(__file__).with_name("check.sh").read_text(encoding="utf-8")
OPTIONS = "client.cnf"
COPY = "binlogs"
"""The live job's task that copies binary logs, whose image and place in S3 the fetching task has."""
_JOB = "nomad:index/job:Job"
# Neither replicates, nor runs events, nor takes the port of another server on its client.
_QUIET = (
    "--event-scheduler=OFF",
    "--loose-skip-replica-start",
    "--loose-skip-slave-start",
    "--loose-group-replication-start-on-boot=OFF",
    "--loose-mysqlx=OFF",
)
# In no text that a user writes.
_DELIMITERS = {"LeftDelim": "<<<drill", "RightDelim": "drill>>>"}
_OTHER_SERVER = 4_294_967_290
"""An applier leaves out what has its own server id."""
# Whatever the live server is told: no transaction is left out, and none that does not fit.
_STRICT = ("exec-mode=STRICT", "skip-errors=OFF")
_LOGS = "${NOMAD_ALLOC_DIR}/data/replay"
_WAIT = f'until [ -e "$NOMAD_ALLOC_DIR/data/replay/{READY}" ]; do sleep 1; done; exec sh "$@"'
_KEPT = (
    "Region",
    "Datacenters",
    "NodePool",
    "Priority",
    "Constraints",
    "Affinities",
    "ConsulNamespace",
    "VaultNamespace",
)


def mysql(
    nomad: NomadApi, resources: Iterable[Json], job_id: str, target: Target, *, newest: str, patience_s: float
) -> Json:
    """Returns a job with the stack's MySQL server and what checks it, from the job file in the stack's state.

    Nomad itself reads the file, with other values for what must differ: no certificate, since it is in a variable of
    the live job, and no databases and accounts, which a restored server has. Raises DrillError and NomadError.
    """
    state = next((one for one in resources if one["type"] == _JOB and one.get("id") == job_id), None)
    if state is None:
        raise DrillError(f"the stack's state has no job {job_id}: run `pulumi up` first")
    given = state["inputs"]
    variables: dict[str, str] = dict(given["hcl2"]["vars"])
    changed = {
        "job": {**json.loads(variables["job"]), "id": target.id, "namespace": target.namespace},
        "volume": {**json.loads(variables["volume"]), "id": target.id, "release": "drill"},
        "tls": {**json.loads(variables["tls"]), "certificate": False, "ca": False},
        "port": 0,
        "databases": [],
        "accounts": [],
    }
    variables |= {name: jobspec.hcl_value(value) for name, value in changed.items() if name in variables}
    body = {
        "JobHCL": given["jobspec"],
        "Variables": "\n".join(f"{name} = {text}" for name, text in variables.items()),
        "Canonicalize": False,
    }
    job: Json = nomad.put("jobs/parse", body, namespace=target.namespace)
    made = _own(job, job["TaskGroups"][0], target, "data")
    [group] = made["TaskGroups"]
    server = _task(group["Tasks"], SERVER)
    server["Lifecycle"] = {"Hook": "prestart", "Sidecar": True}
    server["Config"]["args"] = [*server["Config"]["args"], *_QUIET]
    if "START_SOCKET" not in (server.get("Env") or {}):
        raise DrillError(f"job {job_id} serves on another socket than this release: run `pulumi up`")
    group["Tasks"] = [server, _checker(server, target, newest, patience_s)]
    return made


def _checker(server: Json, target: Target, newest: str, patience_s: float) -> Json:
    """Returns the task that checks the server, by the client in its image."""
    login = [
        "[client]",
        "user = root",
        "host = localhost",
        "protocol = socket",
        "socket = " + server["Env"]["START_SOCKET"].replace("${NOMAD_ALLOC_DIR}", '{{ env "NOMAD_ALLOC_DIR" }}'),
        f'password = {{{{ with nomadVar "nomad/jobs/{target.id}" }}}}{{{{ .root_password }}}}{{{{ end }}}}',
        "",
    ]
    options = {"DestPath": f"${{NOMAD_SECRETS_DIR}}/{OPTIONS}", "EmbeddedTmpl": "\n".join(login)}
    return {
        "Name": CHECK,
        "Driver": server["Driver"],
        "User": server.get("User") or "",
        "Config": {"image": server["Config"].get("image"), "args": ["sh", "${NOMAD_TASK_DIR}/drill.sh"]},
        # By the server's socket, what is said needs no encryption.
        "Env": {"TLS_MYSQL": "--ssl-mode=DISABLED", "DRILL_PATIENCE": str(int(patience_s))},
        "Templates": [
            _file("local/drill.sh", CHECK_SCRIPT),
            *([_file("local/newest.sql", newest.strip().rstrip(";"))] if newest else []),
            {**options, "ChangeMode": "noop", "Perms": "0400"},
        ],
        "Resources": {"CPU": 50, "MemoryMB": 128},
    }


def consumer(nomad: NomadApi, namespace: str, volume_id: str, target: Target, command: str) -> Json:
    """Returns a job that runs a command in the task of the volume's consumer, on the restored volume.

    Raises DrillError where no job uses the volume, and NomadError.
    """
    for stub in nomad.get("jobs", namespace=namespace) or []:
        job: Json = nomad.find(job_path(str(stub["ID"])), namespace=namespace) or {}
        for group in job.get("TaskGroups") or []:
            request = next((name for name, one in (group.get("Volumes") or {}).items() if _uses(one, volume_id)), None)
            if request is not None:
                return _consumer(job, group, request, target, command)
    raise DrillError(
        f"no job in namespace {namespace} uses volume {volume_id}: a drill runs --check in the task of the volume's "
        "consumer. Add one (mysql, or consumers), and run `pulumi up`"
    )


def _consumer(job: Json, group: Json, request: str, target: Target, command: str) -> Json:
    made = _own(job, group, target, request)
    [own] = made["TaskGroups"]
    task = next(one for one in own["Tasks"] if one.get("VolumeMounts"))
    task |= {"Name": CHECK, "Lifecycle": None, "Leader": False, "KillSignal": ""}
    # What a template looks up is the live job's.
    task["Templates"] = [one for one in task.get("Templates") or [] if "{{" not in (one.get("EmbeddedTmpl") or "{{")]
    task["Templates"].append(_file("local/drill.sh", f"{command}\n"))
    shell = {"entrypoint": ["/bin/sh"]} if task["Driver"] == "docker" else {"command": "/bin/sh"}
    kept = {key: value for key, value in task["Config"].items() if key != "command"}
    task["Config"] = {**kept, **shell, "args": ["${NOMAD_TASK_DIR}/drill.sh"]}
    own["Tasks"] = [task]
    return made


def _own(job: Json, group: Json, target: Target, request: str) -> Json:
    """Returns a batch job with one group that has the scratch volume alone, free ports, no services and no retries."""
    own = copy.deepcopy(group)
    volume = own["Volumes"][request]
    volume |= {"Source": target.id, "PerAlloc": False, "ReadOnly": False}
    volume |= {"AccessMode": target.access_mode, "AttachmentMode": target.attachment_mode}
    own |= {
        **dict.fromkeys(("Services", "Update", "Scaling", "Migrate", "Disconnect")),
        "Count": 1,
        "Volumes": {request: volume},
        "RestartPolicy": {"Attempts": 0, "Mode": "fail", "Interval": int(3600e9), "Delay": int(1e9)},
        "ReschedulePolicy": {"Attempts": 0, "Unlimited": False},
    }
    for network in own.get("Networks") or []:
        ports = [*(network.get("ReservedPorts") or []), *(network.get("DynamicPorts") or [])]
        network |= {"ReservedPorts": None, "DynamicPorts": [{**port, "Value": 0} for port in ports]}
    for task in own["Tasks"]:
        task |= {"Services": None, "RestartPolicy": None}
        task["VolumeMounts"] = [
            {**mount, "ReadOnly": False} for mount in task.get("VolumeMounts") or [] if mount["Volume"] == request
        ]
    return {
        **{key: job[key] for key in _KEPT if job.get(key)},
        "ID": target.id,
        "Name": target.id,
        "Namespace": target.namespace,
        "Type": "batch",
        "Meta": {"drill-of": target.tag},
        "TaskGroups": [own],
    }


def _uses(request: Json, volume_id: str) -> bool:
    if request.get("Type") != "csi":
        return False
    source = str(request["Source"])
    return volume_id.startswith(f"{source}[") if request.get("PerAlloc") else volume_id == source


def _file(path: str, text: str) -> Json:
    """Returns a template of Nomad's that puts this text there as it is."""
    return {"DestPath": path, "EmbeddedTmpl": text, "ChangeMode": "noop", "Perms": "0755", **_DELIMITERS}


def _task(tasks: Iterable[Json], name: str) -> Json:
    return next(task for task in tasks if task["Name"] == name)


def argument(fetcher: Json, name: str) -> str:
    """Returns what a task of the agent's is given as --NAME. Raises DrillError."""
    words = [str(word) for word in fetcher["Config"].get("args") or []]
    found = next((word for word in words if word.startswith(f"--{name}=")), None)
    if found is None:
        raise DrillError(
            f"the stack's job that restores dumps has no --{name} in its task {fetcher['Name']}, as in an earlier "
            "release: run `pulumi up`"
        )
    return found.partition("=")[2]


def add_dump(job: Json, restore: Json, dump: Dump) -> None:
    """Changes the drill's job so that its server is filled by the tasks of `restore`, the stack's job that restores.

    So a drill proves what `nomad-stateful restore` would do. Raises DrillError.
    """
    fetcher, loader = (copy.deepcopy(_task(restore["TaskGroups"][0]["Tasks"], name)) for name in (FETCH, "restore"))
    script = next((one for one in loader["Templates"] if one["DestPath"] == "local/restore.sh"), None)
    if script is None:
        raise DrillError(f"job {restore['ID']} loads dumps in another way than this release: run `pulumi up`")
    [group] = job["TaskGroups"]
    server, checker = group["Tasks"][0], group["Tasks"][-1]
    mounts = copy.deepcopy(server["VolumeMounts"])
    folder = f"{mounts[0]['Destination']}/.drill-dump"
    job["Meta"] = {**(job.get("Meta") or {}), "dump": dump.id, "from": "s3"}
    words = [word for word in fetcher["Config"]["args"] if not str(word).startswith("--folder=")]
    fetcher["Config"] = {**fetcher["Config"], "args": [*words, f"--folder={folder}"]}
    fetcher |= {"VolumeMounts": mounts, "Services": None, "RestartPolicy": None}
    checker |= {"VolumeMounts": mounts, "Resources": dict(loader["Resources"])}
    checker["Env"] |= {"DRILL_DUMP": dump.id, "DUMPS": folder}
    checker["Templates"].append(script)
    group["Tasks"].insert(0, fetcher)


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
    server = _task(group["Tasks"], SERVER)
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


def _logs_fetcher(copier: Json, server: Json, datadir: str, replay: Replay) -> Json:
    keys = (replay.logs[0].key, replay.logs[-1].key, *replay.others)
    first, last, *others = (key.rpartition(FOLDER)[2] for key in keys)
    arguments = [
        *(word for word in copier["Config"]["args"] if str(word).startswith(("--bucket=", "--prefix="))),
        f"--first={first}",
        f"--last={last}",
        f"--count={len(replay.logs)}",
        *(f"--except={name}" for name in others),
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
