"""What the job files' variables are, by the inputs of the component that submits them.

Without Pulumi, so that a job can be looked at before anything is deployed.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nomad_stateful import jobspec
from nomad_stateful.databases.model import Database, Login
from nomad_stateful.databases.server import Grant, Member, ServerSettings
from nomad_stateful.nomad.deadlines import healthy_deadline_s, progress_deadline_s

if TYPE_CHECKING:
    import pulumi

    from nomad_stateful.components.container import ContainerArgs, ContainerVolume
    from nomad_stateful.components.csi_plugin import CsiPluginArgs, PluginRole
    from nomad_stateful.components.database import DatabaseServerArgs, LogCopies
    from nomad_stateful.components.database_backup import BackedUpServer, DatabaseBackupArgs, DumpCopies
    from nomad_stateful.components.database_group import DatabaseGroupArgs
    from nomad_stateful.components.database_metrics import DatabaseMetricsArgs, MeasuredServer
    from nomad_stateful.components.failover_watch import FailoverWatchArgs
    from nomad_stateful.components.volume_metrics import VolumeMetricsArgs

NO_LOGS: "LogCopies" = {
    "bucket": "",
    "prefix": "",
    "region": "",
    "endpoint": "",
    "image": "",
    "memory_mib": 64,
    "account": "",
    "interval_s": 30,
}
"""What stands in the job file where no logs are copied."""
NOWHERE: "DumpCopies" = {"bucket": "", "prefix": "", "region": "", "endpoint": "", "image": "", "memory_mib": 64}
"""What stands in the job files where dumps are not copied."""
# Who runs the official image's process.
NOBODY = 65534


def deadlines(timeout_s: int) -> dict[str, str]:
    """Returns the job files' variable `health`, for an `up` that waits that long."""
    return {
        "deadline": f"{healthy_deadline_s(timeout_s)}s",
        "progress_deadline": f"{progress_deadline_s(timeout_s)}s",
    }


def csi_plugin(role: "PluginRole", args: "CsiPluginArgs") -> tuple[str, dict[str, Any]]:
    """Returns the name of a role's job file, and the values of its variables."""
    variables: dict[str, Any] = {
        "job": {"id": role["job_id"], **args["placement"], "constraints": args["constraints"]},
        "plugin": {
            "id": args["plugin_id"],
            "type": role["role"],
            "mount_dir": args["mount_dir"],
            "stage_publish_base_dir": args["stage_publish_base_dir"],
            "health_timeout": args["health_timeout"],
        },
        "task": _task(role, args),
        "metrics": {"provider": args.get("metrics_provider") or ""},
    }
    if role["role"] != "controller":
        return "csi-node", variables
    variables["count"] = args["controller_count"]
    variables["task"]["entrypoint"] = role.get("entrypoint") or []
    return "csi-controller", variables


def _task(role: "PluginRole", args: "CsiPluginArgs") -> dict[str, Any]:
    return {
        "image": args["image"],
        "args": role["args"],
        "env": role["env"],
        "privileged": role["privileged"],
        "network_mode": role["network_mode"],
        "ipc_mode": role["ipc_mode"],
        "mounts": role["mounts"],
        "config_file": args["config_path"],
        "cpu_mhz": args["cpu_mhz"],
        "memory_mib": args["memory_mib"],
    }


def database(kind: Database, args: "DatabaseServerArgs") -> dict[str, Any]:
    """Returns the job's variables without what comes of the gate."""
    settings = _server_settings(kind, args)
    task = kind.server(settings)
    socket = f'{{{{ env "NOMAD_ALLOC_DIR" }}}}/{kind.socket}'
    client = kind.socket_client(socket, kind.superuser, "{{ .root_password }}")
    member = args.get("member")
    # Of a group the agent makes them, on the primary alone.
    makes_accounts = bool(args["databases"] or args["accounts"]) and member is None
    return {
        "job": {"id": args["job_id"], **args["placement"]},
        "server": {
            "database": kind.name,
            "port": kind.port,
            "data_dir": args["data_dir"],
            "socket": kind.socket,
            "env": task.env,
        },
        "volume": {
            "access_mode": args["access_mode"],
            "attachment_mode": "file-system",
            "mount_path": args["mount_path"],
        },
        "task": {**args["task"], "args": task.args},
        "service": {"port": args["port"], **args["service"]},
        "restart": args["restart"],
        "health": deadlines(args["timeout_s"]),
        "disconnect": {"stop_on_client_after": args.get("stop_after_disconnect") or ""},
        "files": {**task.files, **_parent(kind, args)},
        # With the parent process of a member logs in too.
        "secrets": {**task.secrets, **(client.files if member else {})},
        # The other members copy what they did.
        "init_scripts": args["init_scripts"] if not member or args["job_id"] == member["members"][0] else {},
        "tls": {"certificate": settings.certificate, "ca": settings.ca, "args": task.certificate_args},
        "accounts": {"env": client.env, "files": {**client.files, **task.accounts} if makes_accounts else {}},
        **({"binlogs": _logs(kind, args.get("binlogs"), socket)} if kind.logs else {}),
        **_group(kind, args, {**client.files, **task.accounts}),
    }


def _parent(kind: Database, args: "DatabaseServerArgs") -> dict[str, str]:
    """Returns the parent process of a member's server as a file of its task."""
    if kind.group is None or args.get("member") is None:
        return {}
    name = kind.group.parent
    return {name: (jobspec.FOLDER / kind.name / name).read_text("utf-8")}


def _group(kind: Database, args: "DatabaseServerArgs", files: dict[str, str]) -> dict[str, Any]:
    """Returns the variable of a member, without what comes of the decision who begins; none of a single server."""
    member = args.get("member")
    if member is None or kind.group is None:
        return {}
    account = kind.group.account.name
    login = f"[client]\nuser = {account}\npassword = {{{{ .password_{account} }}}}\n"
    return {
        "group": {
            "member": args["job_id"],
            "id": "",
            "first": "",
            "members": member["members"],
            "port": member["port"],
            "image": member["image"],
            "agent_port": member["agent_port"],
            "memory_mib": member["agent_memory_mib"],
            "files": {**files, "replication.cnf": login},
            "certificate": "",
        }
    }


def _server_settings(kind: Database, args: "DatabaseServerArgs") -> ServerSettings:
    certificate = args["tls"].get("certificate")
    return ServerSettings(
        job_id=args["job_id"],
        data_dir=args["data_dir"],
        args=[
            f"{kind.data_dir_argument}{args['data_dir']}",
            *kind.arguments,
            *(kind.logs.arguments if kind.logs and args.get("binlogs") else ()),
            *args["task"]["args"],
        ],
        config={name: kind.options.text(value) for name, value in args["config"].items()},
        tls=args["tls"]["mode"],
        certificate=certificate is not None,
        ca=certificate is not None and certificate.get("ca") is not None,
        databases=args["databases"],
        accounts=[Grant(**account) for account in args["accounts"]],
        member=_member(args),
    )


def _member(args: "DatabaseServerArgs") -> Member | None:
    given = args.get("member")
    if given is None:
        return None
    others = [name for name in given["members"] if name != args["job_id"]]
    return Member(args["job_id"], others, given["port"], given["message_cache_mib"])


def database_router(args: "DatabaseGroupArgs") -> dict[str, Any]:
    """Returns the variables of the routers' job."""
    server, router = args["server"], args["router"]
    member = args["member"]
    return {
        "job": {"id": router["job_id"], **server["placement"]},
        "task": router["task"],
        "service": {
            "name": server["job_id"],
            "port": server["port"],
            "read_port": router["read_port"],
            "provider": server["service"]["provider"],
        },
        "members": {
            "names": member["members"],
            "agent_port": member["agent_port"],
            "max_lag_s": router["max_lag_s"],
        },
        "health": deadlines(server["timeout_s"]),
    }


def _logs(kind: Database, logs: "LogCopies | None", socket: str) -> dict[str, Any]:
    if logs is None:
        return {**NO_LOGS, "client": ""}
    account = logs["account"]
    (client,) = kind.socket_client(socket, account, f"{{{{ .password_{account} }}}}").files.values()
    return {**logs, "client": client}


def dump_volume(
    args: "DatabaseBackupArgs", volume_id: "pulumi.Input[str]", release: "pulumi.Input[str]"
) -> "dict[str, pulumi.Input[str]]":
    """Returns both job files' variable `volume`; `release` is what the job carries to follow its volume."""
    return {
        "id": volume_id,
        "release": release,
        "access_mode": args["access_mode"],
        "attachment_mode": "file-system",
        "mount_path": args["mount_path"],
    }


def dump(kind: Database, args: "DatabaseBackupArgs", volume: "dict[str, pulumi.Input[str]]") -> dict[str, object]:
    """Returns the variables of the job file that dumps."""
    server = args["server"]
    read: BackedUpServer = {**server, "service": server.get("read_service", server["service"])}
    own = _of_backup(kind, {**args, "server": read}, volume, args["job_id"], args["account"])
    return {**own, "schedule": args["schedule"]}


def restore(kind: Database, args: "DatabaseBackupArgs", volume: "dict[str, pulumi.Input[str]]") -> dict[str, object]:
    """Returns the variables of the job file that restores."""
    return _of_backup(kind, args, volume, f"{args['job_id']}-restore", kind.superuser)


def _of_backup(
    kind: Database, args: "DatabaseBackupArgs", volume: "dict[str, pulumi.Input[str]]", job_id: str, account: str
) -> dict[str, object]:
    server: BackedUpServer = {"ca": "", **args["server"]}
    return {
        "volume": volume,
        "task": args["task"],
        "s3": args.get("s3") or NOWHERE,
        "job": {"id": job_id, **args["placement"]},
        "server": {"database": kind.name, "account": account, "ca": server["ca"]},
        "client": asdict(kind.client(_login(server, account, _item(job_id, "password")))),
    }


def _login(server: "BackedUpServer | MeasuredServer", account: str, password: str) -> Login:
    return Login(
        service=server["service"],
        provider=server["provider"],
        tls=server["tls"],
        verifies=bool(server.get("ca")),
        account=account,
        password=password,
        on_every_client=bool(server.get("on_every_client")),
    )


def _item(path: str, item: str) -> str:
    """Returns a template that shows an item of a job's variable."""
    return f'{{{{ with nomadVar "nomad/jobs/{path}" }}}}{{{{ .{item} }}}}{{{{ end }}}}'


def container(args: "ContainerArgs") -> dict[str, object]:
    """Returns the job's variables without what comes of the gates."""
    return {
        "job": {"id": args["job_id"], **args["placement"], "constraints": args["constraints"]},
        "instances": {"count": args["count"], "canaries": args["canaries"]},
        "volumes": [container_volume(volume) for volume in args["volumes"]],
        "task": args["task"],
        "ports": args["ports"],
        "files": args["files"],
        "services": args["services"],
        "restart": args["restart"],
        "health": deadlines(args["timeout_s"]),
        "disconnect": {"stop_on_client_after": args.get("stop_after_disconnect") or ""},
    }


def container_volume(volume: "ContainerVolume") -> dict[str, object]:
    """Returns what the job file takes of a volume before its gate."""
    return {key: value for key, value in volume.items() if key not in ("members", "earlier_name")}


def failover_watch(args: "FailoverWatchArgs") -> dict[str, object]:
    """Returns the job's variables without what comes of the registrations."""
    return {
        "job": {"id": args["job_id"], **args["placement"]},
        "aws": {"region": args["region"], "account_id": args["account_id"]},
        "watch": {"count": args["count"], "fence": args["fence"]},
        "task": args["task"],
        "health": deadlines(args["timeout_s"]),
    }


def database_metrics(kind: Database, args: "DatabaseMetricsArgs") -> dict[str, Any]:
    """Returns the variables of the job file."""
    server, job_id, account = args["server"], args["job_id"], args["account"]
    password = _item(job_id, "password")
    client = kind.client(_login(server, kind.superuser, _item(f"{job_id}/exporter/account", "root_password")))
    exporter = kind.exporter(_login(server, account, password), server.get("certificate_name", ""))
    return {
        "job": {"id": job_id, **args["placement"]},
        "server": {
            "database": kind.name,
            "service": server["service"],
            "account": account,
            "ca": server.get("ca", ""),
        },
        "client": {
            "image": server["image"],
            "env": client.env,
            "files": {**client.files, **exporter.login, "account.sql": kind.exporter_account(account, password)},
        },
        "exporter": {"args": exporter.args, "env": exporter.env, "files": exporter.files},
        "task": {**args["task"], "uid": NOBODY},
        "service": args["service"],
        "health": deadlines(args["timeout_s"]),
    }


def volume_metrics(args: "VolumeMetricsArgs") -> dict[str, Any]:
    """Returns the variables of the job file."""
    return {
        "job": {"id": args["job_id"], **args["placement"]},
        "task": args["task"],
        "service": args["service"],
    }
