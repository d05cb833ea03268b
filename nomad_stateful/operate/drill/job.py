"""The drill's job: the consumer's own, with another id, namespace and volume, that no client finds and that ends.

To fill an empty server with a dump, it gets the tasks of the stack's job that restores dumps.
"""

import copy
import json
from collections.abc import Iterable

from nomad_stateful import jobspec
from nomad_stateful.databases.model import Database
from nomad_stateful.databases.operations import operations
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.operate.drill.model import DrillError, Dump, Json, Options, Target
from nomad_stateful.operate.stack import DatabaseOutputs
from nomad_stateful.resource_types import NOMAD_JOB

FETCH = "fetch"
"""The task that fetches the dump or the binary logs."""
CHECK = "check"
"""The task whose end is the drill's."""
_SECRETS = "${NOMAD_SECRETS_DIR}"
_SOCKET = "START_SOCKET"
# In no text that a user writes.
_DELIMITERS = {"LeftDelim": "<<<drill", "RightDelim": "drill>>>"}
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


def of_server(
    nomad: NomadApi, resources: Iterable[Json], live: DatabaseOutputs, target: Target, options: Options
) -> Json:
    """Returns a job with the stack's database server and what checks it, from the job file in the stack's state.

    Nomad itself reads the file, with other values for what must differ: no certificate, since it is in a variable of
    the live job. Raises DrillError and NomadError.
    """
    job_id = next((one.job for one in live.servers if one.volume == target.volume), live.servers[0].job)
    state = next((one for one in resources if one["type"] == NOMAD_JOB and one.get("id") == job_id), None)
    if state is None:
        raise DrillError(f"the stack's state has no job {job_id}: run `pulumi up` first")
    given = state["inputs"]
    variables: dict[str, str] = dict(given["hcl2"]["vars"])
    changed = {
        "job": {**json.loads(variables["job"]), "id": target.id, "namespace": target.namespace},
        "volume": {**json.loads(variables["volume"]), "id": target.id, "release": "drill"},
        "tls": {**json.loads(variables["tls"]), "certificate": False},
    }
    if "group" in variables:
        # Alone, without the agent that would have it join its group.
        changed["group"] = {**json.loads(variables["group"]), "member": "", "files": {}}
    variables |= {name: jobspec.hcl_value(value) for name, value in changed.items() if name in variables}
    body = {
        "JobHCL": given["jobspec"],
        "Variables": "\n".join(f"{name} = {text}" for name, text in variables.items()),
        "Canonicalize": False,
    }
    job: Json = nomad.put("jobs/parse", body, namespace=target.namespace)
    made = _own(job, job["TaskGroups"][0], target, "data")
    [group] = made["TaskGroups"]
    drill = operations(live.kind.name).drill
    server = task_of(group["Tasks"], live.kind.name)
    server["Lifecycle"] = {"Hook": "prestart", "Sidecar": True}
    server["Config"]["args"] = [*server["Config"]["args"], *drill.quiet]
    if _SOCKET not in (server.get("Env") or {}):
        raise DrillError(f"job {job_id} serves on another socket than this release: run `pulumi up`")
    group["Tasks"] = [server, _checker(server, live.kind, target, options)]
    return made


def _checker(server: Json, kind: Database, target: Target, options: Options) -> Json:
    """Returns the task that checks the server, by the client in its image."""
    socket = server["Env"][_SOCKET]
    password = f'{{{{ with nomadVar "nomad/jobs/{target.id}" }}}}{{{{ .root_password }}}}{{{{ end }}}}'
    of_allocation = socket.replace("${NOMAD_ALLOC_DIR}", '{{ env "NOMAD_ALLOC_DIR" }}')
    client = kind.socket_client(of_allocation, kind.superuser, password)
    newest = options.newest.strip().rstrip(";")
    patience_s = max(60.0, options.timeout_s - 60)
    return {
        "Name": CHECK,
        "Driver": server["Driver"],
        "User": server.get("User") or "",
        "Config": {"image": server["Config"].get("image"), "args": ["sh", "${NOMAD_TASK_DIR}/drill.sh"]},
        "Env": {**client.env, _SOCKET: socket, "DRILL_PATIENCE": str(int(patience_s))},
        "Templates": [
            _file("local/drill.sh", operations(kind.name).drill.script),
            *([_file("local/newest.sql", newest)] if newest else []),
            *(
                {"DestPath": f"{_SECRETS}/{name}", "EmbeddedTmpl": text, "ChangeMode": "noop", "Perms": "0400"}
                for name, text in client.files.items()
            ),
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
        "consumer. Add one (a database, or consumers), and run `pulumi up`"
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


def task_of(tasks: Iterable[Json], name: str) -> Json:
    """Returns the task of that name."""
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
    fetcher, loader = (copy.deepcopy(task_of(restore["TaskGroups"][0]["Tasks"], name)) for name in (FETCH, "restore"))
    # Its login, in the secrets folder, is the live job's.
    scripts = [one for one in loader["Templates"] if one["DestPath"].startswith("local/")]
    if "local/restore.sh" not in [one["DestPath"] for one in scripts]:
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
    checker["Templates"] += scripts
    group["Tasks"].insert(0, fetcher)
