"""The program's resources, recorded instead of made."""

from typing import Any

import pulumi
from pulumi.runtime import mocks

from components.container import Container
from components.csi_plugin import CsiPlugin
from components.csi_volume import CsiVolume
from components.driver_policy import DriverPolicy
from components.mysql import MysqlServer
from components.mysql_backup import MysqlBackup
from components.zonal_volumes import ZonalVolumes
from program import settings, surroundings
from program.wiring import consumers as wiring_consumers
from program.wiring import stack as wiring

SURROUNDINGS = surroundings.Surroundings(
    account_id="123456789012",
    partition="aws",
    region="us-west-2",
    stack="nomad-stateful/test",
    claimant="org/nomad-stateful/test",
)
PASSWORD = "drawn-by-the-provider"


class Recorder(mocks.Mocks):
    """Keeps every registration; answers with the inputs and the outputs that others depend on."""

    def __init__(self) -> None:
        self.resources: dict[str, mocks.MockResourceArgs] = {}

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        self.resources[args.name] = args
        outputs_by_type: dict[str, dict[str, Any]] = {
            "nomad:index/job:Job": {"modifyIndex": "7"},
            "aws:ebs/volume:Volume": {"arn": f"arn:aws:ec2:us-west-2:123456789012:volume/{args.name}-id"},
            "nomad-csi:index:PluginHealth": {
                "topologyKey": "topology.ebs.csi.aws.com/zone",
                "provider": "ebs.csi.aws.com",
                "providerVersion": "v1.48.0",
                "controllersHealthy": 2,
                "nodesHealthy": 3,
                "zonesHealthy": {"us-west-2a": 2},
            },
            "nomad-csi:index:VolumeGuard": {"guardId": "guard-1", "finalSnapshot": True},
            "nomad-csi:index:CsiVolumeGuard": {"finalSnapshot": True},
            "nomad-csi:index:VolumeGrowth": {"restartId": ""},
            "nomad-csi:index:VolumeRelease": {"releaseId": "release-1"},
            "nomad-csi:index:GeneratedSecret": {"result": PASSWORD},
            "nomad-csi:index:Ownership": {"ownerId": "owner-1"},
            "nomad-csi:index:JobHealth": {"allocationId": "allocation-1", "nodeName": "client-1"},
        }
        return f"{args.name}-id", {**args.inputs, **outputs_by_type.get(args.typ, {})}

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        return {"allocationId": "allocation-1", "nodeName": "client-1", "host": "10.0.0.5", "port": 3306}, []


def _build(config: dict[str, Any]) -> pulumi.Output[Any]:
    known = settings.parse(config)
    policies = [
        DriverPolicy(f"{driver}-driver", args) for driver, args in wiring.driver_policies(known, SURROUNDINGS).items()
    ]
    volumes = ZonalVolumes("ebs", wiring.zonal_volumes(known, SURROUNDINGS))
    plugins = {
        plugin.id: CsiPlugin(f"plugin-{plugin.id}", wiring.csi_plugin(known, SURROUNDINGS, plugin))
        for plugin in known.plugins
    }
    registered = {
        args["volume_id"]: CsiVolume(f"volume-{args['volume_id']}", args, pulumi.ResourceOptions(depends_on=policies))
        for volume in known.volumes
        for args in wiring.csi_volumes(known, SURROUNDINGS, volume, plugins, volumes)
    }
    ids = pulumi.Output.all(*[volume.registration_id for volume in registered.values()])
    containers = [
        Container(f"consumer-{one.name}", wiring_consumers.container(known, SURROUNDINGS, one, registered)).job_id
        for one in known.consumers
    ]
    if known.mysql is None:
        return pulumi.Output.all(ids, *containers)
    server = MysqlServer("mysql", wiring.mysql_server(known, SURROUNDINGS, known.mysql, registered[known.mysql.volume]))
    backups = [
        MysqlBackup("mysql-backup", args).job_id
        for args in wiring.mysql_backups(known, SURROUNDINGS, known.mysql, server, registered)
    ]
    return pulumi.Output.all(ids, server.port, *backups, *containers)


def record(config: dict[str, Any]) -> dict[str, mocks.MockResourceArgs]:
    """Every resource of the program under a configuration, by logical name."""
    recorder = Recorder()
    mocks.set_mocks(recorder, project="nomad-stateful", stack="test")

    # Registrations go on after the body returns; only then is everything recorded.
    @pulumi.runtime.test  # type: ignore[untyped-decorator]
    def run() -> pulumi.Output[Any]:
        return _build(config)

    run()
    return recorder.resources
