"""The drill's job: the consumer's own, with another id, namespace and volume, that no client finds and that ends."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any

from nomad_stateful import jobspec
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.operate.drill import script
from nomad_stateful.operate.drill.model import DrillError, Json, Target

CHECK = "check"
"""The task whose end is the drill's."""
_JOB = "nomad:index/job:Job"
# Neither replicates, nor runs events, nor takes the port of another server on its client.
_QUIET = (
    "--event-scheduler=OFF",
    "--loose-skip-replica-start",
    "--loose-skip-slave-start",
    "--loose-group-replication-start-on-boot=OFF",
    "--loose-mysqlx=OFF",
)
# By the server's socket, what is said needs no encryption.
_NO_TLS = {"TLS_MYSQL": "--ssl-mode=DISABLED"}
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
    tls = json.loads(variables["tls"])
    changed = {
        "job": {**json.loads(variables["job"]), "id": target.id, "namespace": target.namespace},
        "volume": {**json.loads(variables["volume"]), "id": target.id, "release": "drill"},
        "tls": {**tls, "certificate": False, "ca": False},
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
    server = next(task for task in group["Tasks"] if task["Name"] == "mysql")
    server["Lifecycle"] = {"Hook": "prestart", "Sidecar": True}
    server["Config"]["args"] = [*server["Config"]["args"], *_QUIET]
    if "START_SOCKET" not in (server.get("Env") or {}):
        raise DrillError(f"job {job_id} serves on another socket than this release: run `pulumi up`")
    env = {**_NO_TLS, "DRILL_PATIENCE": str(int(patience_s))}
    group["Tasks"] = [server, _checker(server, target, newest, env)]
    return made


def _checker(server: Json, target: Target, newest: str, env: Mapping[str, str]) -> Json:
    """Returns the task that checks the server, by the client in its image."""
    login = "\n".join(
        [
            "[client]",
            "user = root",
            "host = localhost",
            "protocol = socket",
            "socket = " + server["Env"]["START_SOCKET"].replace("${NOMAD_ALLOC_DIR}", '{{ env "NOMAD_ALLOC_DIR" }}'),
            f'password = {{{{ with nomadVar "nomad/jobs/{target.id}" }}}}{{{{ .root_password }}}}{{{{ end }}}}',
            "",
        ]
    )
    return {
        "Name": CHECK,
        "Driver": server["Driver"],
        "User": server.get("User") or "",
        "Config": {"image": server["Config"].get("image"), "args": ["sh", "${NOMAD_TASK_DIR}/drill.sh"]},
        "Env": dict(env),
        "Templates": [
            file("local/drill.sh", script.MYSQL),
            *([file(f"local/{script.NEWEST}", newest.strip().rstrip(";"))] if newest else []),
            {
                "DestPath": f"${{NOMAD_SECRETS_DIR}}/{script.OPTIONS}",
                "EmbeddedTmpl": login,
                "ChangeMode": "noop",
                "Perms": "0400",
            },
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
    task["Templates"].append(file("local/drill.sh", f"{command}\n"))
    if task["Driver"] == "docker":
        task["Config"] = {**task["Config"], "entrypoint": ["/bin/sh"], "args": ["${NOMAD_TASK_DIR}/drill.sh"]}
        task["Config"].pop("command", None)
    else:
        task["Config"] = {**task["Config"], "command": "/bin/sh", "args": ["${NOMAD_TASK_DIR}/drill.sh"]}
    own["Tasks"] = [task]
    return made


def _own(job: Json, group: Json, target: Target, request: str) -> Json:
    """Returns a batch job with one group that has the scratch volume alone, free ports, no services and no retries."""
    own = copy.deepcopy(group)
    volume = own["Volumes"][request]
    volume |= {"Source": target.id, "PerAlloc": False, "ReadOnly": False}
    volume |= {"AccessMode": target.access_mode, "AttachmentMode": target.attachment_mode}
    own |= {
        "Count": 1,
        "Volumes": {request: volume},
        "Services": None,
        "Update": None,
        "Scaling": None,
        "Migrate": None,
        "Disconnect": None,
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


def file(path: str, text: str) -> dict[str, Any]:
    """Returns a template of Nomad's that puts this text there as it is."""
    return {"DestPath": path, "EmbeddedTmpl": text, "ChangeMode": "noop", "Perms": "0755", **_DELIMITERS}
