"""A look and a kill inside a sandbox's instances."""

import contextlib
from typing import Any

from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadError
from tools.trial.running import Running
from tools.trial.servers import MYSQL

SERVER = MYSQL.running
AGENT = "nomad agent"


def inside(stack: Running, client: str, *command: str) -> str:
    """What a command prints inside an instance."""
    return stack.try_ctl("enter", client, *command).stdout


def pid_inside(stack: Running, client: str, pattern: str) -> int:
    """The oldest process of an instance whose command line matches, by the instance's own numbering; 0 if none."""
    # The brackets keep the pattern from matching the searching process itself.
    return int(inside(stack, client, "pgrep", "--oldest", "--full", f"[{pattern[0]}]{pattern[1:]}").strip() or 0)


def instance_of(stack: Running, client: str) -> str:
    """The id of a client's instance; not of one that was terminated, whose successor has its name."""
    filters = [
        {"Name": "tag:Name", "Values": [client]},
        {"Name": "instance-state-name", "Values": ["running", "stopping", "stopped"]},
    ]
    found = stack.ec2.describe_instances(Filters=filters)["Reservations"]
    return str(found[0]["Instances"][0]["InstanceId"])


def kill_inside(stack: Running, client: str, pid: int) -> None:
    """Kills a process of an instance, by the instance's own numbering."""
    inside(stack, client, "kill", "-9", str(pid))


def node_plugins(stack: Running, plugin_id: str = "aws-ebs0") -> int:
    """Healthy node plugins on clients that are ready."""
    ready = [one.id for one in clients.listed(stack.nomad) if one.status == "ready"]
    nodes = stack.nomad.get(f"plugin/csi/{plugin_id}")["Nodes"]
    return len([node_id for node_id in ready if (nodes.get(node_id) or {}).get("Healthy")])


def plugin_reports(stack: Running, node_id: str, plugin_id: str = "aws-ebs0") -> dict[str, str]:
    """When a client's healthy plugins were last reported, by kind; the times compare as text.

    What an agent said is known until the one after it says it anew: only then can Nomad release the client's claims.
    """
    with contextlib.suppress(NomadError):
        plugin: dict[str, Any] = stack.nomad.get(f"plugin/csi/{plugin_id}")
        both = {kind: (plugin[kind] or {}).get(node_id) for kind in ("Nodes", "Controllers")}
        return {kind: info["UpdateTime"] for kind, info in both.items() if info and info["Healthy"]}
    return {}


def reported_since(now: dict[str, str], before: dict[str, str]) -> bool:
    """Whether everything that was reported before was reported again."""
    return now.keys() >= before.keys() and all(now[kind] > before[kind] for kind in before)
