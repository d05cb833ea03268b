"""An EBS volume and its driver on Nomad, out of the installed components."""

import pulumi

from nomad_stateful.components.csi_plugin import CsiPlugin, PluginRole
from nomad_stateful.components.csi_volume import CsiVolume
from nomad_stateful.components.placement import JobPlacement
from nomad_stateful.components.zonal_volumes import ZonalVolumes
from nomad_stateful.drivers import ebs
from nomad_stateful.drivers.model import DriverOptions, Role

settings = pulumi.Config()
zone = settings.get("zone") or "us-west-2a"
placement: JobPlacement = {"namespace": "default", "datacenters": ["*"], "node_pool": "default"}
options = DriverOptions(plugin_id="aws-ebs0", version=ebs.DRIVER.default_version)


def plugin_role(role: Role) -> PluginRole:
    """How a role of the driver runs, as the project knows it."""
    task = ebs.DRIVER.roles[role]
    return {
        "role": role,
        "job_id": f"{options.plugin_id}-{role}",
        "args": task.args(options),
        "env": dict(task.env),
        "privileged": task.privileged,
        "network_mode": task.network_mode,
        "ipc_mode": task.ipc_mode,
        "mounts": [],
    }


volumes = ZonalVolumes(
    "ebs",
    {
        "volumes": [
            {"name": "orders", "zone": zone, "size_gib": 10, "protect": settings.get_bool("protect") is not False}
        ],
        "driver_tags": {ebs.MANAGED_TAG: ebs.MANAGED_TAG_VALUE},
    },
)
plugin = CsiPlugin(
    "ebs-plugin",
    {
        "plugin_id": options.plugin_id,
        "placement": placement,
        "constraints": [],
        "image": f"{ebs.DRIVER.image}:{options.version}",
        "roles": [plugin_role(role) for role in ebs.DRIVER.roles],
        "controller_count": ebs.DRIVER.controllers,
        "config_path": "",
        "mount_dir": ebs.DRIVER.mount_dir,
        "stage_publish_base_dir": "",
        "health_timeout": "30s",
        "cpu_mhz": 100,
        "memory_mib": 128,
        "zones": [zone],
        "zone_keys": list(ebs.DRIVER.topology_keys),
        "timeout_s": 300,
    },
)
volume = CsiVolume(
    "orders",
    {
        "volume_id": "orders",
        "namespace": placement["namespace"],
        "plugin_id": plugin.plugin_id,
        "external_id": volumes.volume_ids["orders"],
        "size_gib": volumes.sizes_gib["orders"],
        "access_mode": "single-node-writer",
        "attachment_mode": "file-system",
        "topology_key": plugin.topology_key,
        "zone": zone,
        "fs_type": "ext4",
    },
)

pulumi.export("volumeId", volume.external_id)
pulumi.export("registered", volume.registration_id)
