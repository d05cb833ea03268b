"""One thing configured twice: a job's id, a volume's id at its storage provider."""

from typing import Any

import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.settings import SettingsError

EFS = {"id": "efs0", "driver": "efs"}
SHARED = {"plugin": "efs0", "provision": "existing", "accessMode": "multi-node-multi-writer", "fsType": ""}
CONSUMER = {"name": "files", "image": "busybox:1.36", "mounts": [{"volume": "files", "path": "/data"}]}


def existing(name: str, external_id: str, **more: Any) -> dict[str, Any]:
    found = {"name": name, "provision": "existing", "externalId": external_id, "zone": "us-west-2a"}
    return {key: value for key, value in (found | more).items() if value is not None}


def refused(**config: Any) -> str:
    known = {
        "clientRole": "nomad-client",
        "plugins": [{"id": "ebs0"}],
        "volumes": [existing("files", "vol-0000000000000000f")],
    }
    with pytest.raises(SettingsError) as caught:
        settings.parse(known | config)
    return str(caught.value)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            {"mysql": {"volume": "files", "jobId": "plugin-ebs0-controller"}},
            "mysql.jobId is plugin-ebs0-controller: plugins.ebs0.jobIds.controller gives another job this id, and",
        ),
        (
            {"consumers": [CONSUMER | {"name": "plugin-ebs0-node"}]},
            "consumers.plugin-ebs0-node.name is plugin-ebs0-node: plugins.ebs0.jobIds.node gives another job this id",
        ),
        (
            {"plugins": [{"id": "ebs0", "jobIds": {"controller": "ebs", "node": "ebs"}}]},
            "plugins.ebs0.jobIds.node is ebs: plugins.ebs0.jobIds.controller gives another job this id",
        ),
        (
            {"plugins": [{"id": "ebs0", "jobIds": {"node": "n"}}, EFS | {"jobIds": {"node": "n"}}]},
            "plugins.efs0.jobIds.node is n: plugins.ebs0.jobIds.node gives another job this id",
        ),
        (
            {
                "volumes": [existing("files", "vol-0000000000000000f"), existing("dumps", "vol-0000000000000000d")],
                "mysql": {"volume": "files", "backup": {"volume": "dumps", "jobId": "plugin-ebs0-node"}},
            },
            "mysql.backup.jobId is plugin-ebs0-node: plugins.ebs0.jobIds.node gives another job this id",
        ),
        (
            {
                "volumes": [existing("files", "vol-0000000000000000f"), existing("dumps", "vol-0000000000000000d")],
                "mysql": {
                    "volume": "files",
                    "jobId": "db-restore",
                    "backup": {"volume": "dumps", "jobId": "db"},
                },
            },
            "mysql.backup.jobId is db-restore: mysql.jobId gives another job this id (the job that restores)",
        ),
        (
            {"mysql": {"volume": "files"}, "consumers": [CONSUMER | {"name": "mysql-server"}]},
            "consumers.mysql-server.name is mysql-server: mysql.jobId gives another job this id",
        ),
    ],
)
def test_a_job_id_for_two_purposes_is_refused(config: dict[str, Any], said: str) -> None:
    assert said in refused(**config)


def test_one_ebs_volume_under_two_names_is_refused_also_by_way_of_two_plugins() -> None:
    plugins = [{"id": "ebs0"}, {"id": "ebs1"}]
    volumes = [existing("files", "vol-0000000000000000f"), existing("again", "vol-0000000000000000f", plugin="ebs1")]
    assert (
        "volumes.again.externalId is vol-0000000000000000f: volumes.files is the same volume, "
        "and Nomad counts the writers of each name separately. Mount files wherever it is needed, and remove again."
    ) in refused(plugins=plugins, volumes=volumes)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("fs-00000001", "fs-00000001"),
        ("fs-00000001", "fs-00000001:/"),
        ("fs-00000001:/a", "fs-00000001:/a/"),
        ("fs-00000001::fsap-00000001", "fs-00000001:/a:fsap-00000001"),
    ],
)
def test_one_folder_of_an_efs_under_two_names_is_refused(one: str, other: str) -> None:
    volumes = [existing(name, at, zone=None, **SHARED) for name, at in (("files", one), ("again", other))]
    assert f"volumes.again.externalId is {other}: volumes.files is the same volume" in refused(
        plugins=[EFS], volumes=volumes
    )


def test_other_folders_and_other_servers_are_other_volumes() -> None:
    folders = [existing(name, f"fs-00000001:/{name}", zone=None, **SHARED) for name in ("a", "b")]
    hosts = [{"id": name, "driver": "hostpath"} for name in ("one", "two")]
    files = [
        existing(f"on-{host}", "same", zone=None, plugin=host, accessMode="single-node-writer")
        for host in ("one", "two")
    ]
    known = {"clientRole": "nomad-client", "plugins": [EFS, *hosts], "volumes": [*folders, *files]}
    assert len(settings.parse(known).volumes) == 4
