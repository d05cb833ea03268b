"""A look and a kill inside a sandbox's instances."""

from tests.sandbox.running import Running

SERVER = "datadir=/srv/mysql"
AGENT = "nomad agent"


def inside(stack: Running, client: str, *command: str) -> str:
    """What a command prints inside an instance."""
    return stack.run(stack.python, "-m", "sandbox.ec2.ctl", "enter", client, *command).stdout


def pid_inside(stack: Running, client: str, pattern: str) -> int:
    """The oldest process of an instance whose command line matches, by the instance's own numbering; 0 if none."""
    # The brackets keep the pattern from matching the searching process itself.
    return int(inside(stack, client, "pgrep", "--oldest", "--full", f"[{pattern[0]}]{pattern[1:]}").strip() or 0)


def kill_inside(stack: Running, client: str, pid: int) -> None:
    """Kills a process of an instance, by the instance's own numbering."""
    inside(stack, client, "kill", "-9", str(pid))


def node_plugins(stack: Running, plugin_id: str = "aws-ebs0") -> int:
    """Healthy node plugins on clients that are ready."""
    ready = [node["ID"] for node in stack.nomad.get("nodes") if node["Status"] == "ready"]
    nodes = stack.nomad.get(f"plugin/csi/{plugin_id}")["Nodes"]
    return len([node_id for node_id in ready if (nodes.get(node_id) or {}).get("Healthy")])
