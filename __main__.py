"""Stateful MySQL on Nomad: the driver's permissions, volumes by zone, the CSI plugin, the registrations, the server."""

import pulumi

import preflight
import settings as config
import wiring
from components.csi_plugin import CsiPlugin
from components.csi_volume import CsiVolume
from components.driver_policy import DriverPolicy
from components.mysql import MysqlServer
from components.zonal_volumes import ZonalVolumes

settings = config.load()
surroundings = preflight.check(settings)

policy = DriverPolicy("ebs-driver", wiring.driver_policy(settings, surroundings))
volumes = ZonalVolumes("ebs", wiring.zonal_volumes(settings))
plugin = CsiPlugin("ebs-plugin", wiring.csi_plugin(settings), pulumi.ResourceOptions(depends_on=[policy]))
registered = {
    volume.name: CsiVolume(f"volume-{volume.name}", wiring.csi_volume(settings, volume, plugin, volumes))
    for volume in settings.volumes
}
mysql = MysqlServer("mysql", wiring.mysql_server(settings, surroundings, registered[settings.mysql.volume]))

pulumi.export(
    "volumes",
    {
        volume.name: {"id": volumes.volume_ids[volume.name], "zone": volume.zone, "sizeGib": volume.size_gib}
        for volume in settings.volumes
    },
)
pulumi.export("plugin", {"id": plugin.plugin_id, "topologyKey": plugin.topology_key, "health": plugin.health})
pulumi.export("registeredVolumes", [volume.volume_id for volume in registered.values()])
pulumi.export(
    "mysql",
    {
        "job": settings.mysql.job_id,
        "namespace": settings.placement.namespace,
        "zone": settings.volume(settings.mysql.volume).zone,
        "host": mysql.host,
        "port": mysql.port,
        "user": "root",
        "volume": registered[settings.mysql.volume].volume_id,
    },
)
pulumi.export("mysqlPassword", mysql.password)
