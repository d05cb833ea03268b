"""From settings to the jobs of the CSI plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomad_stateful.components.placement import JobConstraint
from nomad_stateful.drivers.model import CONFIG_FILE, DriverOptions, Role
from nomad_stateful.nomad.fingerprint import ZONE_REFERENCE
from nomad_stateful.program.plan.inputs import THIS_STACK, constraint, placement
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.settings import Plugin, Settings
from nomad_stateful.program.settings.metrics import serves
from nomad_stateful.program.settings.rules import job_ids

if TYPE_CHECKING:
    from nomad_stateful.components.csi_plugin import CsiPluginArgs, PluginRole

# In a container of docker's own network the port is another than on the client.
METRICS_ADDRESS = "0.0.0.0:${NOMAD_PORT_metrics}"


def csi_plugin(settings: Settings, plugin: Plugin) -> CsiPluginArgs:
    """Returns a driver's jobs, to be healthy in every zone that holds one of its volumes."""
    driver = plugin.known
    metrics = serves(settings.metrics, plugin)
    return {
        "plugin_id": plugin.id,
        "owner": THIS_STACK,
        "placement": placement(settings),
        "constraints": [*_in_zones(plugin.zones), *(constraint(one) for one in plugin.constraints)],
        "image": plugin.pinned_image,
        "roles": [] if plugin.existing else [_role(plugin, role, serves=metrics) for role in driver.roles],
        "controller_count": plugin.controller_count,
        "config_path": CONFIG_FILE if driver.config_file else "",
        "config": None if plugin.config is None else Later("secret", f"plugins.{plugin.id}.config"),
        "mount_dir": plugin.mount_dir,
        "stage_publish_base_dir": plugin.stage_publish_base_dir,
        "health_timeout": plugin.health_timeout,
        "cpu_mhz": plugin.cpu_mhz,
        "memory_mib": plugin.memory_mib,
        "zones": settings.zones_of(plugin),
        "zone_keys": list(driver.topology_keys) if driver.zonal else [],
        "metrics_provider": settings.metrics.service_provider if settings.metrics and metrics else "",
        "timeout_s": plugin.timeout_s,
    }


def _role(plugin: Plugin, role: Role, *, serves: bool) -> PluginRole:
    task = plugin.known.roles[role]
    controller = role == "controller"
    mounts = task.host_mounts if controller or plugin.host_mounts is None else plugin.host_mounts
    entrypoint = _share_first(plugin) if controller else []
    options = DriverOptions(
        plugin_id=plugin.id,
        version=plugin.pinned_version,
        endpoint=plugin.endpoint,
        log_level=plugin.log_level,
        extra_tags=plugin.extra_tags,
        volume_attach_limit=plugin.volume_attach_limit,
        reserved_volume_attachments=plugin.reserved_volume_attachments,
        extra_args=tuple(plugin.extra_args),
        metrics_address=METRICS_ADDRESS if serves else "",
    )
    return {
        "role": role,
        "job_id": job_ids(plugin)[role],
        "args": [*([plugin.known.image_command] if entrypoint else []), *task.args(options)],
        "env": {**task.env, **plugin.env},
        "privileged": task.privileged,
        "network_mode": task.network_mode if controller or plugin.network_mode is None else plugin.network_mode,
        "ipc_mode": task.ipc_mode if controller or plugin.ipc_mode is None else plugin.ipc_mode,
        "mounts": [{"source": mount.source, "target": mount.target} for mount in mounts],
        "entrypoint": entrypoint,
    }


# The share is mounted in a namespace of the controller's own, and goes with it.
MOUNT_SHARE = 'mkdir -p "$3"; mount -t nfs -o nolock "$1:$2" "$3"; shift 3; exec "$@"'


def _share_first(plugin: Plugin) -> list[str]:
    """Returns what mounts the controller's share and then runs the words after it; empty where it needs none."""
    find = plugin.known.controller_share
    share = find(plugin.config) if find is not None and plugin.config is not None else None
    return [] if share is None else ["sh", "-ec", MOUNT_SHARE, "sh", share.server, share.share, share.path]


def _in_zones(zones: list[str]) -> list[JobConstraint]:
    if not zones:
        return []
    return [{"attribute": ZONE_REFERENCE, "operator": "regexp", "value": f"^({'|'.join(sorted(zones))})$"}]
