"""Names and ids from the API are names of files at most, and never lead out of the sandbox's folders."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.cloud import mount_efs
from sandbox.cloud.efs import ElasticFileSystem, root, zones
from sandbox.cloud.moto_facts import machine_spec
from sandbox.machine.errors import ApiError, CloudError
from sandbox.machine.machine import Machine, MachineSpec
from sandbox.machine.share_mounts import MountError, Request
from sandbox.machine.volumes import VolumeStore
from sandbox.settings import parse_settings
from sandbox.standins.csi.errors import CsiError
from sandbox.standins.csi.folder_store import FolderStore

ID, FILE_SYSTEM, POINT = "i-0123456789abcdef0", "fs-0123456789abcdef0", "fsap-0123456789abcdef0"
CREATION = {"OwnerUid": 1000, "OwnerGid": 1000, "Permissions": "0750"}


def instance(name: str) -> Any:
    tags = [{"key": "Name", "value": name}]
    return SimpleNamespace(
        id=ID,
        get_tags=lambda: tags,
        private_ip="10.173.86.20",
        nics=[SimpleNamespace(mac_address="02:00:00:00:00:01")],
        private_dns_name="ip-10-173-86-20",
        user_data=b"",
    )


@pytest.mark.parametrize(
    "name", ["../../../../etc/cron.d/x", "a/b", "..", ".hidden", "two\nlines", "\x1b[31m", "", "x" * 65]
)
def test_a_name_that_could_be_a_path_or_an_escape_is_not_an_instances_name(name: str) -> None:
    assert machine_spec(instance(name)).name == ID


@pytest.mark.parametrize(
    ("name", "console"),
    [("client-2", "client-2.log"), ("web", f"{ID}.log"), ("ec2", f"{ID}.log"), ("../x", f"{ID}.log")],
)
def test_a_console_is_named_by_sandbox_toml_or_by_the_instances_id(tmp_path: Path, name: str, console: str) -> None:
    settings = parse_settings({}, tmp_path)
    spec = MachineSpec(ID, name, IPv4Address("10.173.86.20"), "02:00:00:00:00:01", "host", "")
    assert Machine(settings, spec).console == settings.log_dir / console


@pytest.mark.parametrize("disk", ["../x", "vol-1/../../x", "/nowhere/x", "snap-", "vol-0123456789abcdef0\n", ""])
def test_what_is_no_disks_id_has_no_bytes(tmp_path: Path, disk: str) -> None:
    store = VolumeStore(tmp_path / "volumes")
    for use in (
        store.image,
        store.remove,
        lambda one: store.ensure(one, 1),
        lambda one: store.copy(one, "snap-01234567"),
    ):
        with pytest.raises(CloudError, match="is not the id"):
            use(disk)


class Backend:
    """moto's, as far as an access point needs it."""

    made = 0

    def create(self, _backend: Any, root_directory: Any) -> Any:
        self.made += 1
        return SimpleNamespace(file_system_id=FILE_SYSTEM, access_point_id=POINT, root_directory=root_directory or {})


@pytest.fixture
def efs(tmp_path: Path) -> ElasticFileSystem:
    made = ElasticFileSystem(tmp_path / "efs")
    made.create_file_system(lambda _: SimpleNamespace(file_system_id=FILE_SYSTEM), None)
    (zones(tmp_path / "efs", FILE_SYSTEM) / "us-west-2a").touch()
    return made


@pytest.mark.parametrize(
    "path", ["/../../out", "/a/../../out", "/.", "relative", "/a//b", "/1/2/3/4/5", "/" + "x" * 100]
)
def test_the_root_of_an_access_point_is_a_path_of_efs(efs: ElasticFileSystem, path: str) -> None:
    backend = Backend()
    with pytest.raises(ApiError, match="invalid value for the parameter Path"):
        efs.create_access_point(backend.create, None, root_directory={"Path": path, "CreationInfo": CREATION})
    assert backend.made == 0


def test_the_root_of_an_access_point_is_made_in_its_file_system(efs: ElasticFileSystem, tmp_path: Path) -> None:
    asked = {"Path": "/reports/2026", "CreationInfo": CREATION}
    efs.create_access_point(Backend().create, None, root_directory=asked)
    found = (root(tmp_path / "efs", FILE_SYSTEM) / "reports/2026").stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1000, 1000, 0o750)


def test_a_link_that_a_client_made_leads_no_access_point_out_of_the_file_system(
    efs: ElasticFileSystem, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root(tmp_path / "efs", FILE_SYSTEM) / "link").symlink_to(outside)
    with pytest.raises(CloudError, match="Not a directory"):
        efs.create_access_point(Backend().create, None, root_directory={"Path": "/link/x", "CreationInfo": CREATION})
    assert list(outside.iterdir()) == []
    for path in ("/link", "/../../outside"):
        with pytest.raises(MountError, match="No such file or directory"):
            mount_efs.folder(tmp_path / "efs", "us-west-2a", Request(f"{FILE_SYSTEM}:{path}", "/mnt/x", {}))


@pytest.mark.parametrize("file_system", ["..", "../efs", f"../efs/{FILE_SYSTEM}", "/"])
def test_what_is_no_file_systems_id_cannot_be_mounted(efs: ElasticFileSystem, tmp_path: Path, file_system: str) -> None:
    with pytest.raises(MountError, match="the file system does not exist"):
        mount_efs.folder(tmp_path / "efs", "us-west-2a", Request(f"{file_system}:/", "/mnt/x", {}))


def test_what_is_no_access_points_id_cannot_be_mounted(efs: ElasticFileSystem, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("/", encoding="utf-8")
    options = {"tls": "", "accesspoint": "../../../note"}
    with pytest.raises(MountError, match="has no access point"):
        mount_efs.folder(tmp_path / "efs", "us-west-2a", Request(f"{FILE_SYSTEM}:/", "/mnt/x", options))


# Only paths in the test's own folder: a driver that takes such a name deletes what it leads to.
@pytest.mark.parametrize("name", ["..", ".", "../../precious", "FOLDER/precious", "a/b", ""])
def test_a_volumes_name_leads_no_driver_out_of_its_folder(tmp_path: Path, name: str) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    store = FolderStore(tmp_path / "shares", lambda given: given, volume_folder="v", snapshot_folder="s")
    store.prepare()
    with pytest.raises(CsiError, match="use letters, digits"):
        store.create(name.replace("FOLDER", str(tmp_path)), 1, None)
    assert precious.is_dir()
    assert store.volumes() == []
