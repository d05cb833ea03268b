"""What a democratic-csi plugin's configuration has to say, and how its controller gets its share."""

from typing import Any

import pytest
import yaml

from nomad_stateful.drivers.democratic_csi_config import config_problem
from nomad_stateful.program import settings
from nomad_stateful.program.plan import plugins as plan
from nomad_stateful.program.settings.errors import SettingsError

KEY = "whispered"
ZFS: dict[str, Any] = {
    "driver": "zfs-generic-nfs",
    "sshConnection": {"host": "nas", "privateKey": KEY},
    "zfs": {"datasetParentName": "tank/csi", "detachedSnapshotsDatasetParentName": "tank/snapshots"},
    "nfs": {
        "shareHost": "nas",
        "shareStrategy": "setDatasetProperties",
        "shareStrategySetDatasetProperties": {"properties": {"sharenfs": "on"}},
    },
}
CLIENT: dict[str, Any] = {
    "driver": "nfs-client",
    "nfs": {"shareHost": "nas", "shareBasePath": "/mnt/tank/shares", "controllerBasePath": "/mnt/storage"},
}


def parsed(config: str, **more: Any) -> settings.Settings:
    plugin = {"id": "nfs0", "driver": "democratic-csi", "config": config, **more}
    volume = {"name": "acme", "provision": "plugin", "capacity": "1GiB", "fsType": "nfs"}
    return settings.parse({"clientRole": "r", "plugins": [plugin], "volumes": [volume]})


def without(config: dict[str, Any], path: str, value: Any = None) -> str:
    changed: dict[str, Any] = yaml.safe_load(yaml.safe_dump(config))
    *parents, last = path.split(".")
    place = changed
    for part in parents:
        place = place[part]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return yaml.safe_dump(changed)


@pytest.mark.parametrize("config", [ZFS, CLIENT, {"driver": "freenas-api-nfs"}, {"driver": "node-manual"}])
def test_a_complete_configuration_is_taken_and_other_kinds_are_not_looked_into(config: dict[str, Any]) -> None:
    assert config_problem(yaml.safe_dump(config)) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (without(ZFS, "driver"), "driver is missing"),
        (without(ZFS, "zfs.datasetParentName"), "zfs.datasetParentName is missing"),
        (without(ZFS, "zfs.detachedSnapshotsDatasetParentName"), "detachedSnapshotsDatasetParentName is missing"),
        (without(ZFS, "zfs.detachedSnapshotsDatasetParentName", "tank/csi/s"), "overlap"),
        (without(ZFS, "nfs.shareHost"), "nfs.shareHost is missing"),
        (without(ZFS, "nfs.shareStrategy"), "nfs.shareStrategy is not setDatasetProperties"),
        (without(ZFS, "nfs.shareStrategySetDatasetProperties"), "sets neither sharenfs nor share"),
        (without(ZFS, "sshConnection.host"), "sshConnection.host is missing"),
        (without(ZFS, "sshConnection.privateKey"), "no privateKey and no password"),
        (without(CLIENT, "nfs.controllerBasePath"), "nfs.controllerBasePath is missing"),
        (f"driver: [{KEY}", "it is not valid YAML (line 1)"),
        (KEY, "it is not a mapping"),
    ],
)
def test_what_the_driver_would_fail_at_is_refused_before_and_the_key_is_not_shown(text: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parsed(text)
    assert "plugins.nfs0.config" in str(caught.value)
    assert said in str(caught.value)
    assert KEY not in str(caught.value)


def test_the_controller_of_nfs_client_finds_its_share_mounted() -> None:
    found = parsed(yaml.safe_dump(CLIENT))
    controller, node = plan.csi_plugin(found, found.plugins[0])["roles"]
    share = ["sh", "nas", "/mnt/tank/shares", "/mnt/storage"]
    assert controller["entrypoint"] == ["sh", "-ec", plan.MOUNT_SHARE, *share]
    assert (controller["args"][0], node["args"][0]) == ("bin/democratic-csi", "--csi-version=1.5.0")
    assert node["entrypoint"] == []


def test_the_controller_of_zfs_needs_no_share() -> None:
    found = parsed(yaml.safe_dump(ZFS))
    roles = plan.csi_plugin(found, found.plugins[0])["roles"]
    assert [(role["entrypoint"], role["args"][0]) for role in roles] == [([], "--csi-version=1.5.0")] * 2
