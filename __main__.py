"""Stateful workloads on Nomad: the driver's permissions, volumes, CSI plugins, registrations, the MySQL server."""

# ruff: noqa: E402

import pulumi

from nomad_stateful.garbage import collect_rarely
from program.prefetch import Questions

collect_rarely()
asked = Questions()  # before the other imports, which take as long as the plugins' start

from components.container import Container
from components.csi_plugin import CsiPlugin
from components.csi_volume import CsiVolume
from components.driver_policy import DriverPolicy
from components.mysql import MysqlServer
from components.mysql_backup import MysqlBackup
from components.zonal_volumes import ZonalVolumes
from program import outputs
from program import settings as config
from program.preflight import check as preflight
from program.preflight import discovery, stack_state
from program.wiring import consumers as wiring_consumers
from program.wiring import stack as wiring

settings = config.load(
    lambda found: discovery.complete(found, lambda: preflight.place(asked), lambda: stack_state.volume_zones(asked))
)
surroundings = preflight.check(settings, asked)

# First, since nothing takes longer than a plugin until it is healthy.
plugins = {
    plugin.id: CsiPlugin(f"plugin-{plugin.id}", wiring.csi_plugin(settings, surroundings, plugin))
    for plugin in settings.plugins
}
policies = [
    DriverPolicy(f"{driver}-driver", args) for driver, args in wiring.driver_policies(settings, surroundings).items()
]
volumes = ZonalVolumes("ebs", wiring.zonal_volumes(settings, surroundings))
# The plugin starts without its permissions, but attaches no volume without them.
registered = {
    args["volume_id"]: CsiVolume(
        f"volume-{args['volume_id']}", args, wiring.registration_options(settings, args["volume_id"], policies)
    )
    for volume in settings.volumes
    for args in wiring.csi_volumes(settings, surroundings, volume, plugins, volumes)
}

pulumi.export("volumes", outputs.volumes(settings, registered))
pulumi.export("plugins", outputs.plugins(plugins))
if settings.mysql is not None:
    mysql = MysqlServer(
        "mysql", wiring.mysql_server(settings, surroundings, settings.mysql, registered[settings.mysql.volume])
    )
    pulumi.export("mysql", outputs.mysql(settings, settings.mysql, mysql))
    pulumi.export("mysqlPassword", mysql.password)
    if settings.mysql.users:
        pulumi.export("mysqlUserPasswords", outputs.user_passwords(settings.mysql, mysql))
    for args in wiring.mysql_backups(settings, surroundings, settings.mysql, mysql, registered):
        backup = MysqlBackup("mysql-backup", args)
        pulumi.export("mysqlBackup", {"job": backup.job_id, "restoreJob": backup.restore_job_id})
containers = {
    consumer.name: Container(
        f"consumer-{consumer.name}",
        wiring_consumers.container(settings, surroundings, consumer, registered),
        wiring_consumers.options(consumer),
    )
    for consumer in settings.consumers
}
if containers:
    pulumi.export("consumers", outputs.consumers(containers))
