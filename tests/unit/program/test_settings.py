"""Settings: what is refused, and how it is said."""

from typing import Any

import pytest

import settings
from settings.errors import SettingsError

GOOD_VOLUME: dict[str, Any] = {"name": "mysql", "zone": "us-west-2a", "sizeGib": 10}


def config(**changes: Any) -> dict[str, Any]:
    good: dict[str, Any] = {"clientRole": "nomad-client", "volumes": [GOOD_VOLUME], "mysql": {"volume": "mysql"}}
    return good | changes


def refusals(**changes: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        settings.parse(config(**changes))
    return str(caught.value)


def volume(**changes: Any) -> list[dict[str, Any]]:
    return [GOOD_VOLUME | changes]


def test_the_least_configuration_is_enough_and_is_safe_by_default() -> None:
    known = settings.parse(config())
    data = known.volume("mysql")
    assert (data.type, data.encrypted, data.protect) == ("gp3", True, True)
    assert known.mysql.mount_path == "/srv"
    assert known.zones == ["us-west-2a"]


def test_an_unknown_key_is_refused_by_its_full_path() -> None:
    text = refusals(volumes=volume(sizeGb=10))
    assert "volumes.mysql.sizeGb is 10: there is no such setting." in text


def test_every_problem_is_reported_at_once() -> None:
    text = refusals(nonsense=1, volumes=volume(sizeGib=0, zone="us-west-2"))
    assert text.startswith("3 settings refused; nothing was created:")


@pytest.mark.parametrize("size", [0, -1, 1.5, "10", True])
def test_a_size_that_is_no_whole_number_of_gib_is_refused(size: object) -> None:
    assert f"volumes.mysql.sizeGib is {size}: must be a whole number of GiB, at least 1" in refusals(
        volumes=volume(sizeGib=size)
    )


@pytest.mark.parametrize(
    ("changes", "key", "remedy"),
    [
        ({"type": "gp2", "iops": 3000}, "iops", "Remove iops, or use one of gp3, io1, io2"),
        ({"type": "io2"}, "iops", "Set iops"),
        ({"iops": 2000}, "iops", "Choose a number in that range"),
        ({"iops": 6000}, "iops", "Use at most 5000, or a larger volume"),
        ({"type": "gp2", "throughputMibps": 200}, "throughputMibps", "Remove it, or use gp3"),
        ({"throughputMibps": 100}, "throughputMibps", "Choose a number in that range"),
        ({"type": "st1"}, "sizeGib", "Choose a size in that range or another type"),
        ({"encrypted": False, "kmsKeyArn": "arn:aws:kms:us-west-2:1:key/x"}, "kmsKeyArn", "Set encrypted: true"),
        ({"kmsKeyArn": "alias/mine"}, "kmsKeyArn", "must be the ARN of a KMS key"),
        ({"snapshotId": "vol-1"}, "snapshotId", "must be the id of an EBS snapshot"),
        ({"name": "my volume"}, "my volume.name", "must start with a letter or digit"),
        ({"zone": "us-west-2"}, "zone", "must be the full name of an availability zone"),
        ({"mountFlags": ["noatime\nx"]}, "mountFlags.0", "must have no line breaks"),
        ({"accessMode": "multi-node-multi-writer"}, "accessMode", "must be one of"),
    ],
)
def test_a_volume_that_ebs_cannot_do_is_refused_with_its_remedy(changes: dict[str, Any], key: str, remedy: str) -> None:
    text = refusals(volumes=volume(**changes))
    assert key in text
    assert remedy in text


def test_gp3_has_its_baseline_iops_at_any_size() -> None:
    assert settings.parse(config(volumes=volume(sizeGib=1, iops=3000))).volume("mysql").iops == 3000


def test_two_volumes_of_one_name_are_refused() -> None:
    assert "volumes.mysql.name is mysql: 2 volumes have this name" in refusals(volumes=volume() * 2)


def test_mysql_on_a_volume_that_does_not_exist_is_refused_with_those_that_do() -> None:
    assert "mysql.volume is other: there is no such volume. Use one of mysql" in refusals(mysql={"volume": "other"})


def test_mysql_on_a_read_only_volume_is_refused() -> None:
    assert "mysql.volume is mysql" in refusals(volumes=volume(accessMode="single-node-reader-only"))


@pytest.mark.parametrize("image", ["mysql", "mysql:latest", "mysql:", "my sql:8", "mysql@sha256:abc"])
def test_an_unpinned_image_is_refused(image: str) -> None:
    assert "must be pinned" in refusals(mysql={"volume": "mysql", "image": image})


def test_an_image_may_be_pinned_by_digest_or_come_from_a_registry_with_a_port() -> None:
    for image in (f"registry:5000/mysql@sha256:{'a' * 64}", "registry:5000/mysql:8.4"):
        assert settings.parse(config(mysql={"volume": "mysql", "image": image})).mysql.image == image


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"pluginId": "aws ebs0"}, "ebs.pluginId is aws ebs0"),
        ({"stagePublishBaseDir": "/csi/stage"}, "must be an absolute path outside mountDir"),
        ({"stagePublishBaseDir": "stage"}, "must be an absolute path outside mountDir"),
        ({"volumeAttachLimit": 10, "reservedVolumeAttachments": 2}, "not both"),
        ({"healthTimeout": "30"}, "must be a duration with its unit"),
        ({"version": "latest"}, "must be a released version"),
        ({"controllerCount": 0}, "must be at least 1"),
    ],
)
def test_a_plugin_that_nomad_or_the_driver_cannot_run_is_refused(changes: dict[str, Any], expected: str) -> None:
    assert expected in refusals(ebs=changes)


@pytest.mark.parametrize("path", ["/srv", "srv/mysql", "/srv/../etc/x", "/srv/my sql"])
def test_a_data_directory_that_is_no_folder_inside_the_mount_is_refused(path: str) -> None:
    assert "mysql.dataDir" in refusals(mysql={"volume": "mysql", "dataDir": path})
