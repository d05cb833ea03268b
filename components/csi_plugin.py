"""A CSI driver on Nomad: its controller and node plugin, healthy where they are needed."""

from typing import Any, NotRequired, TypedDict

import pulumi
import pulumi_nomad as nomad

from nomad_stateful.components import job_variables
from nomad_stateful.components.component_type import Component
from nomad_stateful.components.nomad_job import private_variable, submit
from nomad_stateful.components.ownership import Owner, claim
from nomad_stateful.components.placement import JobConstraint, JobPlacement
from nomad_stateful.sdk import Ownership, PluginHealth


class HostFolder(TypedDict):
    """A folder of the client that a container sees."""

    source: str
    """The client's folder."""
    target: str
    """Where the container sees it."""


class PluginRole(TypedDict):
    """How the controller, node or monolith of a driver runs."""

    role: str
    """controller, node or monolith."""
    job_id: str
    """Id of its job."""
    args: list[str]
    """Command line."""
    env: dict[str, str]
    """Environment."""
    privileged: bool
    """Whether its container is privileged."""
    network_mode: str
    """Network mode of its container; empty is Docker's default."""
    ipc_mode: str
    """IPC mode of its container; empty is Docker's default."""
    mounts: list[HostFolder]
    """Folders of the client that its container sees."""
    entrypoint: NotRequired[list[str]]
    """What runs in the place of the image's entrypoint, before the arguments (controllers only)."""


class CsiPluginArgs(TypedDict):
    """Inputs of CsiPlugin."""

    plugin_id: str
    """Id under which Nomad knows the plugin."""
    placement: JobPlacement
    """Where the jobs may run."""
    owner: NotRequired[Owner | None]
    """Whose the jobs are: claimed before anything is made under their id."""
    constraints: list[JobConstraint]
    """Further constraints of the jobs."""
    image: str
    """Image with its tag."""
    roles: list[PluginRole]
    """A controller and a node, a node alone, or a monolith."""
    controller_count: int
    """Controllers, each on a client of its own; 0 when the driver has none."""
    config_path: str
    """Where the driver reads its configuration file; empty when it reads none."""
    config: NotRequired[pulumi.Input[str] | None]
    """Text of the driver's configuration file, which may hold credentials (secret)."""
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
    """Zones that need a healthy node plugin; empty: one anywhere."""
    zone_keys: list[str]
    """Topology keys that carry a zone, the preferred one first."""
    metrics_provider: NotRequired[str]
    """Where the service csi-driver-metrics is registered, nomad or consul, of a driver whose arguments have it serve
    metrics on NOMAD_PORT_metrics; empty: it serves none."""
    timeout_s: int
    """How long to wait for the plugin to be healthy, in seconds."""


class CsiPlugin(Component):
    """A driver's jobs, complete once the plugin is healthy in every zone; a single zone can be waited for before."""

    plugin_id: pulumi.Output[str]
    """Id of the plugin, known once it is healthy."""
    topology_key: pulumi.Output[str]
    """The topology key that the node plugins really report; empty when they report none."""
    health: pulumi.Output[dict[str, Any]]
    """Provider, version, and healthy controllers and nodes, the latter by zone."""

    def __init__(self, name: str, args: CsiPluginArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("CsiPlugin", name, opts)
        started = {role["role"]: self._job(name, role, args) for role in args["roles"]}
        health = self._health(f"{name}-health", args, started, args["zones"], args["controller_count"])
        # A volume needs its own zone and one controller; it does not wait for the others.
        one = min(1, args["controller_count"])
        self._whole = health
        self._by_zone = {
            zone: self._health(f"{name}-health-{zone}", args, started, [zone], one)
            for zone in args["zones"]
            if [zone] != args["zones"] or one != args["controller_count"]
        }
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

    def healthy_in(self, zone: str) -> PluginHealth:
        """Returns what a volume of a zone waits for: its node plugin and a controller, else the whole plugin."""
        return self._by_zone.get(zone, self._whole)

    def _health(
        self, name: str, args: CsiPluginArgs, started: dict[str, nomad.Job], zones: list[str], controllers: int
    ) -> PluginHealth:
        return PluginHealth(
            name,
            plugin_id=args["plugin_id"],
            controllers=controllers,
            zones=zones,
            zone_keys=args["zone_keys"],
            timeout_s=args["timeout_s"],
            triggers={role: job.modify_index for role, job in started.items()},
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _job(self, name: str, role: PluginRole, args: CsiPluginArgs) -> nomad.Job:
        spec, variables = job_variables.csi_plugin(role, args)
        own = f"{name}-{role['role']}"
        namespace = args["placement"]["namespace"]
        claims = claim(own, ("job", namespace, role["job_id"]), args.get("owner"), pulumi.ResourceOptions(parent=self))
        return submit(own, spec, variables, self, [*claims, *self._config(name, role, args, claims)])

    def _config(
        self, name: str, role: PluginRole, args: CsiPluginArgs, claims: list[Ownership]
    ) -> list[pulumi.Resource]:
        """Returns the driver's configuration, where only this role's job can read it."""
        config = args.get("config")
        if not args["config_path"] or config is None:
            return []
        job = (args["placement"]["namespace"], role["job_id"])
        return [private_variable(f"{name}-{role['role']}-config", job, {"driver_config": config}, self, claims)]
