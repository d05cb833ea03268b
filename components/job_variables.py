"""What the job files' variables are, by the inputs of the component that submits them.

Without Pulumi, so that a job can be looked at before anything is deployed.
"""

import re
from typing import TYPE_CHECKING, Any

from nomad_stateful.nomad.deadlines import healthy_deadline_s, progress_deadline_s

if TYPE_CHECKING:
    import pulumi

    from nomad_stateful.components.container import ContainerArgs, ContainerVolume
    from nomad_stateful.components.csi_plugin import CsiPluginArgs, PluginRole
    from nomad_stateful.components.failover_watch import FailoverWatchArgs
    from nomad_stateful.components.mysql import BinlogCopies, MysqlServerArgs
    from nomad_stateful.components.mysql_backup import DumpCopies, MysqlBackupArgs
    from nomad_stateful.components.mysql_metrics import MysqlMetricsArgs
    from nomad_stateful.components.volume_metrics import VolumeMetricsArgs

GTIDS = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")
"""Server arguments with which logs can be applied to a copy of the server, from any point of it."""
NO_BINLOGS: "BinlogCopies" = {
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


def mysql(args: "MysqlServerArgs") -> dict[str, Any]:
    """Returns the job's variables without what comes of the gate."""
    server_args = [
        f"--datadir={args['data_dir']}",
        # Checks connect without logging in; with name resolution on, MySQL would block their host for that.
        "--skip-name-resolve",
        *(GTIDS if args.get("binlogs") else ()),
        *args["task"]["args"],
    ]
    certificate = args["tls"].get("certificate")
    return {
        "job": {"id": args["job_id"], **args["placement"]},
        "volume": {
            "access_mode": args["access_mode"],
            "attachment_mode": "file-system",
            "mount_path": args["mount_path"],
        },
        "task": {**args["task"], "args": server_args},
        "service": {"port": args["port"], **args["service"]},
        "restart": args["restart"],
        "health": deadlines(args["timeout_s"]),
        "disconnect": {"stop_on_client_after": args.get("stop_after_disconnect") or ""},
        "config": {name: option_text(value) for name, value in args["config"].items()},
        "init_scripts": args["init_scripts"],
        "tls": {
            "mode": args["tls"]["mode"],
            "certificate": certificate is not None,
            "ca": certificate is not None and certificate.get("ca") is not None,
        },
        "databases": args["databases"],
        "accounts": args["accounts"],
        "binlogs": args.get("binlogs") or NO_BINLOGS,
    }


def option_text(value: str) -> str:
    """Returns a value for an option file, where quotes, backslashes and # have a meaning; templates are left alone.

    https://dev.mysql.com/doc/refman/8.4/en/option-files.html
    """
    if value == value.strip() and not re.search(r"""[\\#'"]""", value):
        return value
    parts = re.split(r"({{.*?}})", value)
    parts[::2] = [part.replace("\\", "\\\\").replace('"', '\\"') for part in parts[::2]]
    return f'"{"".join(parts)}"'


def dump_volume(
    args: "MysqlBackupArgs", volume_id: "pulumi.Input[str]", release: "pulumi.Input[str]"
) -> "dict[str, pulumi.Input[str]]":
    """Returns both job files' variable `volume`; `release` is what the job carries to follow its volume."""
    return {
        "id": volume_id,
        "release": release,
        "access_mode": args["access_mode"],
        "attachment_mode": "file-system",
        "mount_path": args["mount_path"],
    }


def mysql_backup(args: "MysqlBackupArgs", volume: "dict[str, pulumi.Input[str]]") -> dict[str, object]:
    """Returns the variables of the job file that dumps."""
    return {
        "volume": volume,
        "task": args["task"],
        "s3": args.get("s3") or NOWHERE,
        "job": {"id": args["job_id"], **args["placement"]},
        "server": {"ca": "", **args["server"], "account": args["account"]},
        "schedule": args["schedule"],
    }


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


def mysql_metrics(args: "MysqlMetricsArgs") -> dict[str, Any]:
    """Returns the variables of the job file."""
    server = args["server"]
    return {
        "job": {"id": args["job_id"], **args["placement"]},
        "server": {
            "service": server["service"],
            "provider": server["provider"],
            "account": args["account"],
            "tls": server["tls"],
            "ca": server.get("ca", ""),
            "name": server.get("certificate_name", ""),
        },
        "client": {"image": server["image"]},
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
