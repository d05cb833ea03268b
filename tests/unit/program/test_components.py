"""The program's resources on the configuration that most stacks start from."""

import json
from typing import Any

import pytest

from tests.unit.program.recorder import PASSWORD, Resources, record, variables

SETTINGS: dict[str, Any] = {
    "clientRole": "nomad-client",
    "plugins": [{"id": "aws-ebs0"}],
    "volumes": [
        {"name": "mysql", "zone": "us-west-2a", "sizeGib": 10},
        {"name": "archive", "zone": "us-west-2b", "sizeGib": 4, "tags": {"team": "data"}, "protect": False},
    ],
    "mysql": {"volume": "mysql"},
}


@pytest.fixture(scope="module")
def resources() -> Resources:
    return record(SETTINGS)


def test_every_volume_carries_the_tag_by_which_the_driver_may_attach_it(resources: Resources) -> None:
    for name in ("ebs-mysql-us-west-2a", "ebs-archive-us-west-2b"):
        assert resources[name].inputs["tags"]["ebs.csi.aws.com/cluster"] == "true"
    assert resources["ebs-archive-us-west-2b"].inputs["tags"]["team"] == "data"


def test_volumes_are_encrypted_gp3_unless_told_otherwise(resources: Resources) -> None:
    inputs = resources["ebs-mysql-us-west-2a"].inputs
    assert (inputs["type"], inputs["encrypted"], inputs["size"]) == ("gp3", True, 10)


def test_the_policy_goes_to_the_clients_role(resources: Resources) -> None:
    assert resources["ebs-driver-attachment"].inputs["role"] == "nomad-client"


def test_both_plugin_jobs_have_the_same_plugin_id_and_the_role_as_type(resources: Resources) -> None:
    for role in ("controller", "node"):
        plugin = variables(resources[f"plugin-aws-ebs0-{role}"])["plugin"]
        assert (plugin["id"], plugin["type"]) == ("aws-ebs0", role)


def test_the_plugin_must_be_healthy_in_every_zone_that_holds_a_volume(resources: Resources) -> None:
    health = resources["plugin-aws-ebs0-health"].inputs
    assert health["zones"] == ["us-west-2a", "us-west-2b"]
    assert health["controllers"] == 2
    assert health["triggers"] == {"controller": "7", "node": "7"}


def test_a_registration_asks_for_its_volumes_zone_by_the_key_the_nodes_report(resources: Resources) -> None:
    request = resources["volume-archive-registration"].inputs["topologyRequest"]
    assert request["required"]["topologies"] == [{"segments": {"topology.ebs.csi.aws.com/zone": "us-west-2b"}}]


def test_a_registration_has_a_name_of_its_own_and_goes_with_destroy(resources: Resources) -> None:
    inputs = resources["volume-mysql-registration"].inputs
    assert (inputs["name"], inputs["deregisterOnDestroy"]) == ("mysql", True)


def test_the_release_gate_stands_between_the_registration_and_the_job(resources: Resources) -> None:
    release = resources["mysql-release-mysql"].inputs
    assert release["registrationId"] == "volume-mysql-registration-id"
    assert release["consumerJobId"] == "mysql-server"
    assert variables(resources["mysql-job"])["volume"]["release"] == "release-1"


@pytest.mark.parametrize(
    ("changes", "differs"), [({}, False), ({"config": {"max_connections": "120"}}, True), ({"memoryMib": 700}, True)]
)
def test_the_gate_comes_before_each_change_of_the_job(
    resources: Resources, changes: dict[str, Any], differs: bool
) -> None:
    changed = record(SETTINGS | {"mysql": {"volume": "mysql", **changes}})
    now, then = (found["mysql-release-mysql"].inputs["triggers"]["job"] for found in (resources, changed))
    assert (now != then) == differs


def test_every_resource_of_the_plugin_has_the_provider_with_the_stacks_account(resources: Resources) -> None:
    own = {name: one for name, one in resources.items() if one.custom and one.typ.startswith("nomad-csi:")}
    assert {"mysql-health", "mysql-release-mysql", "plugin-aws-ebs0-health", "mysql-password"} <= own.keys()
    assert {one.provider.rsplit("::", 2)[1] for one in own.values() if one.provider} == {"nomad-csi"}
    assert [name for name, one in own.items() if not one.provider] == []
    assert resources["nomad-csi"].inputs == {"awsRegion": "us-west-2", "awsAccountId": "123456789012"}
    given = {key for one in own.values() for key in one.inputs if key in ("region", "awsConfig")}
    assert given == set(), "an account is no input"


def test_the_password_is_in_the_variable_and_in_nothing_else(resources: Resources) -> None:
    holders = [name for name, resource in resources.items() if PASSWORD in json.dumps(resource.inputs, default=str)]
    assert holders == ["mysql-variable"]
    assert resources["mysql-variable"].inputs["path"] == "nomad/jobs/mysql-server"


def test_the_data_directory_is_a_folder_inside_the_mount(resources: Resources) -> None:
    known = variables(resources["mysql-job"])
    assert known["volume"]["mount_path"] == "/srv"
    assert "--datadir=/srv/mysql" in known["task"]["args"]


def test_names_of_per_zone_resources_end_in_the_full_zone(resources: Resources) -> None:
    volumes = [name for name, resource in resources.items() if resource.typ == "aws:ebs/volume:Volume"]
    assert sorted(volumes) == ["ebs-archive-us-west-2b", "ebs-mysql-us-west-2a"]


def test_a_volume_waits_for_its_own_zone_and_one_controller(resources: Resources) -> None:
    whole = resources["plugin-aws-ebs0-health"].inputs
    assert (whole["controllers"], whole["zones"]) == (2, ["us-west-2a", "us-west-2b"])
    for zone in whole["zones"]:
        gate = resources[f"plugin-aws-ebs0-health-{zone}"].inputs
        assert (gate["controllers"], gate["zones"]) == (1, [zone])


def test_a_plugin_of_one_zone_and_one_controller_has_a_single_gate() -> None:
    small = {**SETTINGS, "plugins": [{"id": "aws-ebs0", "controllers": 1}], "volumes": SETTINGS["volumes"][:1]}
    gates = [args for args in record(small).values() if args.typ == "nomad-csi:index:PluginHealth"]
    assert [(gate.name, gate.inputs["zones"]) for gate in gates] == [("plugin-aws-ebs0-health", ["us-west-2a"])]
