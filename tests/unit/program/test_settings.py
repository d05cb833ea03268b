"""Settings: what is refused, and how it is said."""

from typing import Any

import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.settings.errors import SettingsError

KEY = "arn:aws:kms:us-west-2:123456789012:key/11111111-2222-3333-4444-555555555555"
GOOD_VOLUME: dict[str, Any] = {"name": "mysql", "zone": "us-west-2a", "sizeGib": 10}


def config(**changes: Any) -> dict[str, Any]:
    good: dict[str, Any] = {
        "clientRole": "nomad-client",
        "plugins": [{"id": "aws-ebs0"}],
        "volumes": [GOOD_VOLUME],
        "mysql": {"volume": "mysql"},
    }
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
    assert known.database is not None
    assert known.database.mount_path == "/srv"
    assert known.zones == ["us-west-2a"]


def test_an_unknown_key_is_refused_by_its_full_path() -> None:
    text = refusals(volumes=volume(sizeGb=10))
    assert "volumes.mysql.sizeGb is set: there is no such setting." in text


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
        ({"initializationRateMibps": 200}, "initializationRateMibps", "Remove it, or set snapshotId"),
        (
            {"initializationRateMibps": 99, "snapshotId": "snap-0123456789abcdef0"},
            "initializationRateMibps",
            "Choose a number in that range",
        ),
        ({"type": "st1"}, "sizeGib", "Choose a size in that range or another type"),
        (
            {"encrypted": False, "kmsKeyArn": KEY},
            "kmsKeyArn",
            "Set encrypted: true",
        ),
        ({"kmsKeyArn": "alias/mine"}, "kmsKeyArn", "must be the ARN of a KMS key"),
        ({"snapshotId": "vol-1"}, "snapshotId", "must be the id of an EBS snapshot"),
        ({"name": "my volume"}, "my volume.name", "must start with a letter or digit"),
        ({"zone": "us-west-2"}, "zone", "must be the full name of an availability zone"),
        ({"mountFlags": ["noatime\nx"]}, "mountFlags.0", "must not contain line breaks"),
        ({"accessMode": "multi-node-multi-writer"}, "accessMode", "does not support this access mode"),
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
    share = {
        "name": "mysql",
        "provision": "existing",
        "externalId": "fs-1",
        "fsType": "",
        "accessMode": "multi-node-reader-only",
    }
    text = refusals(plugins=[{"id": "efs0", "driver": "efs"}], volumes=[share])
    assert "mysql.volume is mysql: MySQL writes files, but the volume is multi-node-reader-only" in text


@pytest.mark.parametrize("provision", [{}, {"provision": "plugin"}, {"provision": "existing", "externalId": "vol-1"}])
@pytest.mark.parametrize(
    "mode", ["single-node-reader-only", "multi-node-reader-only", "multi-node-single-writer", "multi-node-multi-writer"]
)
def test_an_access_mode_that_the_ebs_driver_does_not_attach_is_refused(mode: str, provision: dict[str, str]) -> None:
    given = {key: value for key, value in GOOD_VOLUME.items() if not (key == "sizeGib" and "externalId" in provision)}
    text = refusals(volumes=[given | provision | {"accessMode": mode}], mysql=None)
    assert (
        f"volumes.mysql.accessMode is {mode}: the ebs driver does not support this access mode. Use single-node-w"
        in text
    )
    assert ("readOnly: true" in text) is mode.endswith("reader-only")


def test_a_file_system_that_the_ebs_driver_does_not_mount_is_refused() -> None:
    assert "volumes.mysql.fsType is nfs: the ebs driver does not mount this" in refusals(volumes=volume(fsType="nfs"))
    raw = volume(fsType="nfs", attachmentMode="block-device")
    assert settings.parse(config(volumes=raw, mysql=None)).volume("mysql").attachment_mode == "block-device"


@pytest.mark.parametrize("image", ["mysql", "mysql:latest", "mysql:", "my sql:8", "mysql@sha256:abc"])
def test_an_unpinned_image_is_refused(image: str) -> None:
    assert "must be pinned" in refusals(mysql={"volume": "mysql", "image": image})


def test_an_image_may_be_pinned_by_digest_or_come_from_a_registry_with_a_port() -> None:
    for image in (f"registry:5000/mysql@sha256:{'a' * 64}", "registry:5000/mysql:8.4"):
        known = settings.parse(config(mysql={"volume": "mysql", "image": image})).database
        assert known is not None
        assert known.image == image


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"id": "aws ebs0"}, "plugins.aws ebs0.id is aws ebs0"),
        ({"stagePublishBaseDir": "/csi/stage"}, "must be an absolute path outside mountDir"),
        ({"stagePublishBaseDir": "stage"}, "must be an absolute path outside mountDir"),
        ({"volumeAttachLimit": 10, "reservedVolumeAttachments": 2}, "not both"),
        ({"healthTimeout": "30"}, "must be a duration with its unit"),
        ({"version": "latest"}, "must be a released version"),
        ({"controllers": 0}, "must be at least 1"),
        ({"extraArgs": ["--nonsense"]}, "extraArgs.0 is --nonsense: v1.48.0 of the driver has no such flag"),
        ({"extraArgs": ["--batching", "true"]}, "extraArgs.1 is true: must be one flag with its value"),
        ({"extraArgs": ["--volume-attach-limit=3"]}, "a setting sets this flag. Use volumeAttachLimit"),
        ({"extraArgs": ["--metadata-sources=kubernetes"]}, "the program sets this flag"),
        ({"extraTags": {"kubernetes.io/x": "a"}}, "reserved by the program, the driver or AWS"),
        ({"extraTags": {"CSIVolumeName": "a"}}, "reserved by the program, the driver or AWS"),
        ({"extraTags": {"k" * 129: "a"}}, "a tag has at most 128 characters"),
        ({"clones": True}, "v1.48.0 of the driver does not clone volumes"),
    ],
)
def test_a_plugin_that_nomad_or_the_driver_cannot_run_is_refused(changes: dict[str, Any], expected: str) -> None:
    assert expected in refusals(plugins=[{"id": "aws-ebs0"} | changes])


@pytest.mark.parametrize("path", ["/srv", "srv/mysql", "/srv/../etc/x", "/srv/my sql"])
def test_a_data_directory_that_is_no_folder_inside_the_mount_is_refused(path: str) -> None:
    assert "mysql.dataDir" in refusals(mysql={"volume": "mysql", "dataDir": path})


EFS = {"id": "efs0", "driver": "efs"}
CONFIG = "driver: nfs-client\nnfs: {shareHost: nas, shareBasePath: /share, controllerBasePath: /controller}\n"
NFS = {"id": "nfs", "driver": "democratic-csi", "config": CONFIG}


@pytest.mark.parametrize(
    ("plugins", "changes", "expected"),
    [
        ([{"id": "a"}, {"id": "a"}], {}, "plugins.a.id is a: 2 plugins have this id"),
        ([EFS], {"provision": "existing"}, "volumes.mysql.externalId is not set"),
        ([EFS], {}, "volumes.mysql.provision is pulumi: Pulumi makes EBS volumes only"),
        ([EFS], {"provision": "plugin"}, "the efs driver has no controller"),
        ([EFS | {"controllers": 2}], {}, "plugins.efs0.controllers is 2: the efs driver has no controller jobs"),
        ([EFS | {"volumeAttachLimit": 2}], {}, "the efs driver has no such option"),
        ([{"id": "nfs", "driver": "democratic-csi"}], {}, "needs its configuration file"),
        ([{"id": "e", "config": "x"}], {}, "the ebs driver reads no configuration file"),
        ([{"id": "e", "zones": ["us-west-2b"]}], {}, "plugin e runs in us-west-2b only"),
        ([{"id": "e"}], {"plugin": "other"}, "volumes.mysql.plugin is other: there is no such plugin. Use one of e"),
        ([{"id": "e"}], {"zone": None}, "a volume of the ebs driver lives in one zone"),
        ([{"id": "e"}], {"zones": ["us-west-2a"]}, "zone is set as well"),
        ([{"id": "e"}], {"count": 2}, "this is a set, and MySQL has a single volume"),
        ([{"id": "e"}], {"sizeGib": None}, "volumes.mysql.sizeGib is not set"),
        ([{"id": "e"}], {"externalId": "vol-1"}, "it gets an id of its own"),
        (
            [{"id": "e"}, EFS | {"jobIds": {"node": "plugin-e-node"}}],
            {},
            "plugins.efs0.jobIds.node is plugin-e-node: plugins.e.jobIds.node gives another",
        ),
    ],
)
def test_what_a_driver_cannot_do_is_refused(
    plugins: list[dict[str, Any]], changes: dict[str, Any], expected: str
) -> None:
    assert expected in refusals(plugins=plugins, volumes=volume(**changes))


def test_a_set_is_spread_over_its_zones_in_turn() -> None:
    spread = GOOD_VOLUME | {"name": "data", "zone": None, "zones": ["us-west-2a", "us-west-2b"], "count": 3}
    known = settings.parse(config(volumes=[GOOD_VOLUME, spread]))
    members = [(member.volume_id, member.zone) for member in known.volume("data").members]
    assert members == [("data[0]", "us-west-2a"), ("data[1]", "us-west-2b"), ("data[2]", "us-west-2a")]
    assert known.zones_of(known.plugins[0]) == ["us-west-2a", "us-west-2b"]


def test_a_plugin_without_zones_of_its_own_needs_one_healthy_node_anywhere() -> None:
    share = {"name": "share", "plugin": "efs0", "provision": "existing", "externalId": "fs-1", "fsType": ""}
    share |= {"accessMode": "multi-node-multi-writer"}
    known = settings.parse(config(plugins=[{"id": "aws-ebs0"}, EFS], volumes=[GOOD_VOLUME, share]))
    assert known.zones_of(known.plugins[1]) == []
    assert known.plugins[1].pinned_image.endswith("aws-efs-csi-driver:v3.5.0")


def test_a_secret_of_the_wrong_kind_is_refused_without_being_shown() -> None:
    text = refusals(volumes=volume(secrets={"token": 12345}))
    assert "volumes.mysql.secrets.token is a value that is not shown: must be a string" in text
    assert "12345" not in refusals(volumes=volume(secrets=[12345]))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"clientTags": {"a\0": "b"}}, "must not contain"),
        ({"mysql": {"volume": "mysql", "initScripts": {"1.sql": "x" * 70_000}}}, "must have at most 64 KiB"),
        ({"mysql": {"volume": "mysql", "initScripts": {"1.sql": "e\u0301"}}}, "must be Unicode's composed form"),
        ({"mysql": {"volume": "mysql", "command": "\ud800"}}, "mysql.command is \\ud800: must be valid Unicode"),
        ({"clientTags": {"\ud800": "b"}}, "must be valid Unicode"),
        ({"plugins": [{"id": "aws-ebs0", "env": {"A-B": "c"}}]}, "Nomad renames others"),
        ({"plugins": [{"id": "aws-ebs0", "extraTags": {"a": "b,c=d"}}]}, "extraTags.a is b,c=d: a comma"),
    ],
)
def test_text_that_would_not_arrive_as_it_was_given_is_refused(changes: dict[str, Any], said: str) -> None:
    assert said in refusals(**changes)


def test_a_privilege_that_is_more_than_one_is_refused() -> None:
    user = {"name": "app", "database": "app", "privileges": "SELECT ON X TO Y"}
    text = refusals(mysql={"volume": "mysql", "databases": ["app"], "users": [user]})
    assert "mysql.users.app.privileges is SELECT ON X TO Y: SELECT ON X TO Y is not a privilege on a database" in text
