"""Which folder a mount gets, and what is refused: EFS volume ids, the mount helpers, the file server."""

from pathlib import Path

import pytest

from sandbox.cloud import efs, mount_efs
from sandbox.machine.share_mounts import MountError, Request, read
from sandbox.standins.csi.errors import CsiError
from sandbox.standins.csi.inflight import InFlight
from sandbox.standins.efs_csi_driver.volume_id import parse, share
from sandbox.standins.nas import exports, mount_nfs
from sandbox.standins.nas.layout import Nas
from sandbox.standins.nas.mount_protocol import RefusedError
from sandbox.standins.nas.zfs import run

FS = "fs-0123456789abcdef0"
POINT = "fsap-0123456789abcdef0"


@pytest.mark.parametrize(
    ("volume_id", "parts"),
    [
        (FS, (FS, "", "")),
        (f"{FS}:/a/b/", (FS, "/a/b", "")),
        (f"{FS}::{POINT}", (FS, "", POINT)),
        (f"{FS}:/a:{POINT}", (FS, "/a", POINT)),
    ],
)
def test_a_volume_id_names_file_system_path_and_access_point(volume_id: str, parts: tuple[str, str, str]) -> None:
    assert parse(volume_id) == parts


@pytest.mark.parametrize("volume_id", ["vol-1", "fs-xyz", f"{FS}:/a:{POINT}:b", f"{FS}::ap-1"])
def test_other_volume_ids_are_refused(volume_id: str) -> None:
    with pytest.raises(CsiError, match="invalid"):
        parse(volume_id)


@pytest.mark.parametrize(
    ("context", "flags", "options"),
    [
        ({}, [], ("tls",)),
        ({"encryptInTransit": "false"}, [], ()),
        ({}, ["tls", "iam"], ("tls", "iam")),
        ({"mounttargetip": "10.0.0.5"}, [], ("mounttargetip=10.0.0.5", "tls")),
    ],
)
def test_mounts_are_encrypted_unless_the_context_says_otherwise(
    context: dict[str, str], flags: list[str], options: tuple[str, ...]
) -> None:
    assert share(FS, context, flags, read_only=False).options == options


@pytest.mark.parametrize(
    ("context", "flags"), [({"encryptInTransit": "false"}, ["tls"]), ({"server": "x"}, []), ({"path": "a"}, [])]
)
def test_contradictions_and_unknown_keys_are_refused(context: dict[str, str], flags: list[str]) -> None:
    with pytest.raises(CsiError):
        share(FS, context, flags, read_only=False)


@pytest.fixture
def region(tmp_path: Path) -> Path:
    """A file system with a mount target in zone a and an access point."""
    for part in (efs.root, efs.zones, efs.access_points):
        part(tmp_path, FS).mkdir(parents=True)
    (efs.zones(tmp_path, FS) / "a").touch()
    (efs.access_points(tmp_path, FS) / POINT).write_text("/reports")
    (efs.root(tmp_path, FS) / "reports").mkdir()
    return tmp_path


def request(source: str, options: str = "rw,tls") -> Request:
    return read([source, "/target", "-o", options])


def test_a_file_system_is_mounted_from_its_zones_and_an_access_point_at_its_root_directory(region: Path) -> None:
    root = efs.root(region, FS)
    assert mount_efs.folder(region, "a", request(f"{FS}:/")) == root
    assert mount_efs.folder(region, "a", request(f"{FS}:/", f"tls,accesspoint={POINT}")) == root / "reports"
    assert mount_efs.folder(region, "a", request(f"{FS}:/../../etc/../reports")) == root / "reports"


@pytest.mark.parametrize(
    ("zone", "source", "options", "said"),
    [
        ("a", "fs-00000000:/", "tls", "does not exist"),
        ("b", f"{FS}:/", "tls", "no mount target in b"),
        ("a", f"{FS}:/none", "tls", "No such file or directory"),
        ("a", f"{FS}:/", f"accesspoint={POINT}", '"tls" option is required'),
        ("a", f"{FS}:/", "tls,accesspoint=fsap-1", "no access point"),
        ("a", f"{FS}:/", "iam", '"tls" option is required'),
    ],
)
def test_what_the_region_does_not_have_is_not_mounted(
    region: Path, zone: str, source: str, options: str, said: str
) -> None:
    with pytest.raises(MountError, match=said):
        mount_efs.folder(region, zone, request(source, options))


@pytest.fixture
def nas(tmp_path: Path) -> Nas:
    server = Nas(tmp_path / "nas")
    assert server.prepare()
    assert not server.prepare()
    return server


def test_a_dataset_is_exported_by_its_own_or_its_parents_sharenfs(nas: Nas) -> None:
    run(nas, ["create", "-p", "-o", "refquota=1024", "-o", "a:b=c d", "tank/csi/one"])
    with pytest.raises(RefusedError, match="access denied"):
        exports.folder(nas, "/mnt/tank/csi/one")
    run(nas, ["set", "sharenfs=on", "tank/csi/one"])
    assert exports.folder(nas, "/mnt/tank/csi/one") == nas.root / "tank/csi/one"
    (nas.root / "tank/shares/v").mkdir()
    assert exports.folder(nas, "/mnt/tank/shares/v") == nas.root / "tank/shares/v"
    for other in ("/mnt/tank/csi/../../..", "/etc", "/mnt", "/tank/shares", "/mnt/tank/shares/../csi"):
        with pytest.raises(RefusedError, match="access denied"):
            exports.folder(nas, other)
    with pytest.raises(RefusedError, match="No such file"):
        exports.folder(nas, "/mnt/tank/shares/none")


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ("elsewhere:/mnt/tank/shares", "rw", "Failed to resolve server elsewhere"),
        ("/mnt/tank/shares", "rw", "not in 'host:dir' format"),
        ("nas:/mnt/tank/shares", "tls", "incorrect mount option"),
        ("nas:/mnt/tank/shares", "nolock", "the file server nas does not run"),
    ],
)
def test_a_mount_says_what_mount_nfs_says(nas: Nas, tmp_path: Path, source: str, options: str, said: str) -> None:
    with pytest.raises(MountError, match=said):
        mount_nfs.mount(nas, read([source, str(tmp_path), "-o", options]))


def test_two_calls_for_one_volume_are_not_made_at_once() -> None:
    in_flight = InFlight("locked: {key}")
    with in_flight.hold("volume"), pytest.raises(CsiError, match="locked: volume"), in_flight.hold("volume"):
        pass
    with in_flight.hold("volume"):
        pass
