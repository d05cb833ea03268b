"""The program's resources, recorded instead of made."""

import json
from typing import Any

import pulumi
import pytest
from pulumi.runtime import mocks

import preflight
import settings
import wiring
from components.csi_plugin import CsiPlugin
from components.csi_volume import CsiVolume
from components.driver_policy import DriverPolicy
from components.mysql import MysqlServer
from components.zonal_volumes import ZonalVolumes

SETTINGS: dict[str, Any] = {
    "clientRole": "nomad-client",
    "plugins": [{"id": "aws-ebs0"}],
    "volumes": [
        {"name": "mysql", "zone": "us-west-2a", "sizeGib": 10},
        {"name": "archive", "zone": "us-west-2b", "sizeGib": 4, "tags": {"team": "data"}, "protect": False},
    ],
    "mysql": {"volume": "mysql"},
}
SURROUNDINGS = preflight.Surroundings(account_id="123456789012", partition="aws", region="us-west-2")
PASSWORD = "drawn-by-the-provider"


class Recorder(mocks.Mocks):
    """Keeps every registration; answers with the inputs and the outputs that others depend on."""

    def __init__(self) -> None:
        self.resources: dict[str, mocks.MockResourceArgs] = {}

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        self.resources[args.name] = args
        outputs_by_type: dict[str, dict[str, Any]] = {
            "nomad:index/job:Job": {"modifyIndex": "7"},
            "nomad-csi:index:PluginHealth": {
                "topologyKey": "topology.ebs.csi.aws.com/zone",
                "provider": "ebs.csi.aws.com",
                "providerVersion": "v1.48.0",
                "controllersHealthy": 2,
                "nodesHealthy": 3,
                "zonesHealthy": {"us-west-2a": 2},
            },
            "nomad-csi:index:VolumeRelease": {"releaseId": "release-1"},
            "nomad-csi:index:GeneratedSecret": {"result": PASSWORD},
            "nomad-csi:index:JobHealth": {"allocationId": "allocation-1", "nodeName": "client-1"},
        }
        return f"{args.name}-id", {**args.inputs, **outputs_by_type.get(args.typ, {})}

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        return {"allocationId": "allocation-1", "nodeName": "client-1", "host": "10.0.0.5", "port": 3306}, []


def build() -> MysqlServer:
    known = settings.parse(SETTINGS)
    policies = [DriverPolicy("ebs-driver", args) for args in wiring.driver_policies(known, SURROUNDINGS)]
    volumes = ZonalVolumes("ebs", wiring.zonal_volumes(known))
    plugins = {
        plugin.id: CsiPlugin(
            "ebs-plugin", wiring.csi_plugin(known, plugin), pulumi.ResourceOptions(depends_on=policies)
        )
        for plugin in known.plugins
    }
    registered = {
        args["volume_id"]: CsiVolume(f"volume-{args['volume_id']}", args)
        for volume in known.volumes
        for args in wiring.csi_volumes(known, volume, plugins, volumes)
    }
    assert known.mysql is not None
    return MysqlServer("mysql", wiring.mysql_server(known, SURROUNDINGS, known.mysql, registered["mysql"]))


@pytest.fixture(scope="module")
def resources() -> dict[str, mocks.MockResourceArgs]:
    recorder = Recorder()
    mocks.set_mocks(recorder, project="nomad-stateful", stack="test")

    # Registrations go on after the body returns; only then is everything recorded.
    @pulumi.runtime.test  # type: ignore[untyped-decorator]
    def run() -> pulumi.Output[int]:
        return build().port

    run()
    return recorder.resources


def variables(job: mocks.MockResourceArgs) -> dict[str, Any]:
    """The job's variables, decoded as Nomad would (but for its escapes)."""
    decoded = {}
    for name, value in job.inputs["hcl2"]["vars"].items():
        try:
            decoded[name] = json.loads(value)
        except ValueError:
            decoded[name] = value
    return decoded


def test_every_volume_carries_the_tag_by_which_the_driver_may_attach_it(
    resources: dict[str, mocks.MockResourceArgs],
) -> None:
    for name in ("ebs-mysql-us-west-2a", "ebs-archive-us-west-2b"):
        assert resources[name].inputs["tags"]["ebs.csi.aws.com/cluster"] == "true"
    assert resources["ebs-archive-us-west-2b"].inputs["tags"]["team"] == "data"


def test_volumes_are_encrypted_gp3_unless_told_otherwise(resources: dict[str, mocks.MockResourceArgs]) -> None:
    inputs = resources["ebs-mysql-us-west-2a"].inputs
    assert (inputs["type"], inputs["encrypted"], inputs["size"]) == ("gp3", True, 10)


def test_the_policy_goes_to_the_clients_role(resources: dict[str, mocks.MockResourceArgs]) -> None:
    assert resources["ebs-driver-attachment"].inputs["role"] == "nomad-client"


def test_both_plugin_jobs_have_the_same_plugin_id_and_the_role_as_type(
    resources: dict[str, mocks.MockResourceArgs],
) -> None:
    for role in ("controller", "node"):
        plugin = variables(resources[f"ebs-plugin-{role}"])["plugin"]
        assert (plugin["id"], plugin["type"]) == ("aws-ebs0", role)


def test_the_plugin_must_be_healthy_in_every_zone_that_holds_a_volume(
    resources: dict[str, mocks.MockResourceArgs],
) -> None:
    health = resources["ebs-plugin-health"].inputs
    assert health["zones"] == ["us-west-2a", "us-west-2b"]
    assert health["controllers"] == 2
    assert health["triggers"] == {"controller": "7", "node": "7"}


def test_a_registration_asks_for_its_volumes_zone_by_the_key_the_nodes_report(
    resources: dict[str, mocks.MockResourceArgs],
) -> None:
    request = resources["volume-archive-registration"].inputs["topologyRequest"]
    assert request["required"]["topologies"] == [{"segments": {"topology.ebs.csi.aws.com/zone": "us-west-2b"}}]


def test_a_registration_has_a_name_of_its_own_and_goes_with_destroy(
    resources: dict[str, mocks.MockResourceArgs],
) -> None:
    inputs = resources["volume-mysql-registration"].inputs
    assert (inputs["name"], inputs["deregisterOnDestroy"]) == ("mysql", True)


def test_the_release_gate_stands_between_the_registration_and_the_job(
    resources: dict[str, mocks.MockResourceArgs],
) -> None:
    release = resources["mysql-volume-release"].inputs
    assert release["registrationId"] == "volume-mysql-registration-id"
    assert release["consumerJobId"] == "mysql-server"
    assert variables(resources["mysql-job"])["volume"]["release"] == "release-1"


def test_the_password_is_in_the_variable_and_in_nothing_else(resources: dict[str, mocks.MockResourceArgs]) -> None:
    holders = [name for name, resource in resources.items() if PASSWORD in json.dumps(resource.inputs, default=str)]
    assert holders == ["mysql-variable"]
    assert resources["mysql-variable"].inputs["path"] == "nomad/jobs/mysql-server"


def test_the_data_directory_is_a_folder_inside_the_mount(resources: dict[str, mocks.MockResourceArgs]) -> None:
    known = variables(resources["mysql-job"])
    assert known["volume"]["mount_path"] == "/srv"
    assert "--datadir=/srv/mysql" in known["task"]["args"]


def test_names_of_per_zone_resources_end_in_the_full_zone(resources: dict[str, mocks.MockResourceArgs]) -> None:
    volumes = [name for name, resource in resources.items() if resource.typ == "aws:ebs/volume:Volume"]
    assert sorted(volumes) == ["ebs-archive-us-west-2b", "ebs-mysql-us-west-2a"]
