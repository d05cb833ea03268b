"""Mount flags of another file system than the volume's."""

from typing import Any

import pytest

from nomad_stateful.program.settings import SettingsError, parse


def load(driver: str, **volume: Any) -> None:
    parse(
        {
            "clientRole": "clients",
            "plugins": [{"id": "p", "driver": driver}],
            "volumes": [{"name": "data", **volume}],
        }
    )


def ebs(**volume: Any) -> None:
    load("ebs", zone="us-west-2a", sizeGib=1, **volume)


@pytest.mark.parametrize(
    ("fs_type", "flags", "refused"),
    [
        ("ext4", ["noatime", "nouuid"], "volumes.data.mountFlags is nouuid: is not a mount flag of ext4"),
        ("ext3", ["allocsize=64m"], "volumes.data.mountFlags is allocsize=64m: is not a mount flag of ext3"),
        ("", ["inode64"], "volumes.data.mountFlags is inode64: is not a mount flag of ext4"),
        ("xfs", ["noatime,data=journal"], "volumes.data.mountFlags is data=journal: is not a mount flag of xfs"),
        ("xfs", ["nolock"], "volumes.data.mountFlags is nolock: is not a mount flag of xfs"),
    ],
)
def test_a_flag_of_another_file_system_is_refused(fs_type: str, flags: list[str], refused: str) -> None:
    with pytest.raises(SettingsError) as raised:
        ebs(fsType=fs_type, mountFlags=flags)
    assert refused in str(raised.value)


def test_a_flag_of_its_own_or_of_every_file_system_passes() -> None:
    ebs(fsType="ext4", mountFlags=["noatime", "data=journal", "discard", "nobarrier"])
    ebs(fsType="xfs", mountFlags=["nouuid", "noatime,logbsize=256k", "usrquota"])


def test_shares_take_what_nfs_knows() -> None:
    share: dict[str, Any] = {
        "provision": "existing",
        "externalId": "fs-0123456789abcdef0",
        "accessMode": "multi-node-multi-writer",
    }
    load("efs", **share, fsType="nfs", mountFlags=["nolock", "vers=4"])
    load("efs", **share, fsType="", mountFlags=["anything"])
