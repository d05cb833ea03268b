"""A CSI driver on Nomad: its controller and node plugin, healthy where they are needed."""

from typing import Any, TypedDict

import pulumi
import pulumi_nomad as nomad

import jobs
from components.placement import JobPlacement
from provider.sdk import PluginHealth


class CsiPluginArgs(TypedDict):
    """Inputs of CsiPlugin."""

    plugin_id: str
    """Id under which Nomad knows the plugin."""
    placement: JobPlacement
    """Where the jobs may run."""
    task_driver: str
    """docker or raw_exec."""
    image: str
    """Image with its tag (docker)."""
    command: str
    """Program (raw_exec)."""
    controller_args: list[str]
    """Command line of the controller plugin."""
    node_args: list[str]
    """Command line of the node plugin."""
    env: dict[str, str]
    """Environment of both."""
    controller_count: int
    """Controllers, each on a client of its own."""
    mount_dir: str
    """Where the plugin's socket is inside its task."""
    stage_publish_base_dir: str
    """Where the plugin stages and publishes volumes; empty leaves it to Nomad."""
    health_timeout: str
    """How long Nomad waits before it restarts an unhealthy plugin, such as 30s."""
    cpu_mhz: int
    """CPU of each task, in MHz."""
    memory_mib: int
    """Memory of each task, in MiB."""
    zones: list[str]
    """Zones that need a healthy node plugin."""
    zone_keys: list[str]
    """Topology keys that carry a zone, the preferred one first."""
    timeout_s: int
    """How long to wait for the plugin to be healthy, in seconds."""


class CsiPlugin(pulumi.ComponentResource):
    """A driver's controller job (service) and node job (system), complete once the plugin is healthy in every zone."""

    plugin_id: pulumi.Output[str]
    """Id of the plugin, known once it is healthy."""
    topology_key: pulumi.Output[str]
    """The topology key that the node plugins really report."""
    health: pulumi.Output[dict[str, Any]]
    """Provider, version, and healthy controllers and nodes, the latter by zone."""

    def __init__(self, name: str, args: CsiPluginArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("nomad-stateful:index:CsiPlugin", name, None, opts)
        controller = self._job(name, "controller", args, {"count": jobs.hcl_value(args["controller_count"])})
        node = self._job(name, "node", args, {})
        health = PluginHealth(
            f"{name}-health",
            plugin_id=args["plugin_id"],
            controllers=args["controller_count"],
            zones=args["zones"],
            zone_keys=args["zone_keys"],
            timeout_s=args["timeout_s"],
            triggers={"controller": controller.modify_index, "node": node.modify_index},
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.plugin_id = health.plugin_id
        self.topology_key = health.topology_key
        self.health = pulumi.Output.all(
            provider=health.provider,
            version=health.provider_version,
            controllers_healthy=health.controllers_healthy,
            nodes_healthy=health.nodes_healthy,
            zones_healthy=health.zones_healthy,
        )
        self.register_outputs({"plugin_id": self.plugin_id, "topology_key": self.topology_key, "health": self.health})

    def _job(self, name: str, role: str, args: CsiPluginArgs, more_vars: dict[str, str]) -> nomad.Job:
        job = {"id": f"plugin-{args['plugin_id']}-{role}", **args["placement"]}
        plugin = {
            "id": args["plugin_id"],
            "type": role,
            "mount_dir": args["mount_dir"],
            "stage_publish_base_dir": args["stage_publish_base_dir"],
            "health_timeout": args["health_timeout"],
        }
        task = {
            "driver": args["task_driver"],
            "image": args["image"],
            "command": args["command"],
            "args": args["controller_args"] if role == "controller" else args["node_args"],
            "env": args["env"],
            "cpu_mhz": args["cpu_mhz"],
            "memory_mib": args["memory_mib"],
        }
        variables = {key: jobs.hcl_value(value) for key, value in {"job": job, "plugin": plugin, "task": task}.items()}
        return nomad.Job(
            f"{name}-{role}",
            jobspec=jobs.spec(f"csi-{role}"),
            hcl2=nomad.JobHcl2Args(vars={**variables, **more_vars}),
            purge_on_destroy=True,
            # A job that somebody stopped by hand comes back with the next refresh and up.
            rerun_if_dead=True,
            opts=pulumi.ResourceOptions(parent=self),
        )
