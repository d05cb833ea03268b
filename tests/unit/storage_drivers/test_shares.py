"""Which folder a mount gets, and what is refused: EFS volume ids, the mount helpers, the file server."""

from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from sandbox.csi.errors import CsiError
from sandbox.csi.inflight import InFlight
from sandbox.ec2 import efs, mount_efs
from sandbox.ec2.share_mounts import MountError, Request, read
from sandbox.efs_csi_driver.volume_id import parse, share
from sandbox.nas import mount_nfs, ssh
from sandbox.nas.layout import Nas, public_part
from sandbox.nas.zfs import Pool, ZfsError, run

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
    pool = Pool(nas)
    run(pool, ["create", "-p", "-o", "refquota=1024", "-o", "a:b=c d", "tank/csi/one"])
    with pytest.raises(MountError, match="access denied"):
        mount_nfs.folder(nas, request("nas:/tank/csi/one"))
    run(pool, ["set", "sharenfs=on", "tank/csi/one"])
    assert mount_nfs.folder(nas, request("nas:/tank/csi/one")) == nas.root / "tank/csi/one"
    (nas.root / "tank/shares/v").mkdir()
    assert mount_nfs.folder(nas, request("nas:/tank/shares/v")) == nas.root / "tank/shares/v"
    with pytest.raises(MountError, match="resolve"):
        mount_nfs.folder(nas, request("elsewhere:/tank/shares"))
    listed = run(pool, ["list", "-H", "-p", "-r", "-t", "filesystem", "-o", "name,refquota,a:b", "tank/csi"])
    assert listed == "tank/csi\t0\t-\ntank/csi/one\t1024\tc d\n"


def test_snapshots_keep_what_was_there_and_clones_start_from_it(nas: Nas) -> None:
    pool = Pool(nas)
    run(pool, ["create", "tank/csi/one"])
    file = nas.root / "tank/csi/one/file"
    file.write_text("before")
    run(pool, ["snapshot", "tank/csi/one@s"])
    file.write_text("after")
    run(pool, ["clone", "tank/csi/one@s", "tank/csi/two"])
    assert (nas.root / "tank/csi/two/file").read_text() == "before"
    with pytest.raises(ZfsError, match="has children"):
        run(pool, ["destroy", "tank/csi/one"])
    run(pool, ["destroy", "-r", "tank/csi/one"])
    assert not file.exists()
    with pytest.raises(ZfsError, match="does not exist"):
        run(pool, ["list", "tank/csi/one"])


def test_only_the_servers_own_key_logs_in(nas: Nas, tmp_path: Path, capsys: Any) -> None:
    assert public_part(nas.key_file.read_text()) in nas.authorized_keys.read_text()
    assert nas.key_file.stat().st_mode & 0o777 == 0o600
    login = ["-o", "BatchMode=yes", "-p", "22"]
    words = ["zfs list -H -o name tank/csi"]
    assert ssh.main([str(nas.folder), "-i", str(nas.key_file), *login, "root@nas", *words]) == 0
    assert capsys.readouterr().out == "tank/csi\n"
    stranger = Nas(tmp_path / "other")
    stranger.prepare()
    assert ssh.main([str(nas.folder), "-i", str(stranger.key_file), *login, "root@nas", *words]) == ssh.EXIT_SSH
    assert "Permission denied (publickey)" in capsys.readouterr().err
    assert ssh.main([str(nas.folder), "-i", str(nas.key_file), *login, "root@nas", "reboot"]) == 127


def test_who_queues_for_a_volume_goes_on_when_it_is_free() -> None:
    in_flight, went_on = InFlight(), Event()

    def second() -> None:
        with in_flight.queue("volume"):
            went_on.set()

    waiting = Thread(target=second)
    with in_flight.queue("volume"):
        waiting.start()
        with pytest.raises(CsiError, match="already in progress"), in_flight.hold("volume"):
            pass
        assert not went_on.is_set()
    waiting.join(timeout=5)
    assert went_on.is_set()
