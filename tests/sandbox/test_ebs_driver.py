"""The EBS CSI driver's node work on real block devices: format, mount, grow, and what it must never do."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from sandbox.standins.csi import mounts
from sandbox.standins.csi.commands import CommandError
from sandbox.standins.csi.metadata import NodeIdentity
from sandbox.standins.ebs_csi_driver import devices, filesystems, node_volumes
from sandbox.standins.ebs_csi_driver.devices import DeviceFinder
from sandbox.standins.ebs_csi_driver.filesystems import FilesystemError
from sandbox.standins.ebs_csi_driver.node_volumes import GrowthError
from tests.sandbox.ebs_rig import LoopDevices
from tools.trial.kernel import may_grow_mounted_ext4

pytestmark = pytest.mark.sandbox

VOLUME = "vol-0123456789abcdef0"
FILE_SYSTEMS = [
    "ext4",
    "ext3",
    pytest.param("xfs", marks=pytest.mark.skipif(shutil.which("mkfs.xfs") is None, reason="xfsprogs is not installed")),
]


def mounted_below(folder: Path) -> list[str]:
    found = mounts.parse_mountinfo(mounts.MOUNTINFO.read_text())
    return [mount.path for mount in reversed(found) if mount.path.startswith(f"{folder}/")]


@pytest.fixture
def loops(tmp_path: Path) -> Iterator[LoopDevices]:
    """Loop devices; every mount below tmp_path and every device is gone afterwards."""
    made = LoopDevices(tmp_path)
    yield made
    for path in mounted_below(tmp_path):
        subprocess.run(["umount", path], check=True)
    made.detach_all()


@pytest.fixture
def device(loops: LoopDevices) -> str:
    return loops.attach(VOLUME, 1)


@pytest.fixture
def staging(tmp_path: Path) -> str:
    return str(tmp_path / "staging")


@pytest.fixture
def stage(device: str, staging: str) -> Callable[..., None]:
    def call(fs_type: str = "ext4", flags: tuple[str, ...] = ()) -> None:
        node_volumes.stage(device, staging, fs_type, node_volumes.mount_options(fs_type, flags))

    return call


@pytest.mark.parametrize("fs_type", FILE_SYSTEMS)
def test_an_empty_device_is_formatted_once_and_keeps_its_files(
    fs_type: str, stage: Callable[..., None], staging: str
) -> None:
    stage(fs_type)
    Path(staging, "row").write_text("kept")
    stage(fs_type)
    node_volumes.unstage(staging)
    node_volumes.unstage(staging)
    assert not Path(staging).exists()
    stage(fs_type)
    assert Path(staging, "row").read_text() == "kept"
    mount = mounts.mount_at(staging)
    assert mount is not None
    assert mount.fs_type == fs_type


def partition_table(device: str) -> None:
    """An MBR with one Linux partition."""
    entry = bytes([0, 0, 2, 0, 0x83, 0, 0, 0]) + (2048).to_bytes(4, "little") + (65536).to_bytes(4, "little")
    Path(device).write_bytes(bytes(446) + entry + bytes(48) + b"\x55\xaa")


def command(*argv: str) -> Callable[[str], None]:
    def call(device: str) -> None:
        subprocess.run([*argv, device], check=True, capture_output=True)

    return call


def start_of(device: str) -> bytes:
    with Path(device).open("rb") as raw:
        return raw.read(1 << 20)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(command("mkfs.ext3", "-F", "-q"), "a ext3 file system", id="file system"),
        pytest.param(command("mkswap"), "swap", id="swap"),
        pytest.param(partition_table, "a dos partition table", id="partitions"),
    ],
)
def test_a_device_that_holds_anything_is_never_formatted(
    make: Callable[[str], None], said: str, device: str, stage: Callable[..., None]
) -> None:
    make(device)
    before = start_of(device)
    with pytest.raises(FilesystemError, match=said):
        stage("ext4")
    assert start_of(device) == before


def test_mount_flags_are_used(stage: Callable[..., None], staging: str) -> None:
    stage("ext4", ("noatime",))
    mount = mounts.mount_at(staging)
    assert mount is not None
    assert "noatime" in mount.options


def test_a_wrong_mount_flag_fails_with_what_mount_says(stage: Callable[..., None], staging: str) -> None:
    with pytest.raises(CommandError, match="nonsense"):
        stage("ext4", ("nonsense",))
    assert mounts.mount_at(staging) is None


def test_the_same_volume_is_published_twice_once_read_only(
    stage: Callable[..., None], staging: str, tmp_path: Path
) -> None:
    stage()
    writable, protected = str(tmp_path / "a b" / "rw"), str(tmp_path / "ro")
    for _ in range(2):
        node_volumes.publish_filesystem(staging, writable, [], read_only=False)
        node_volumes.publish_filesystem(staging, protected, [], read_only=True)
    Path(writable, "row").write_text("1")
    assert Path(protected, "row").read_text() == "1"
    with pytest.raises(OSError, match="Read-only"):
        Path(protected, "row").write_text("2")
    node_volumes.publish_filesystem(staging, protected, [], read_only=False)
    with pytest.raises(OSError, match="Read-only"):
        Path(protected, "row").write_text("2")
    for target in (writable, protected):
        node_volumes.unpublish(target)
        node_volumes.unpublish(target)
        assert not Path(target).exists()


def test_what_is_not_staged_cannot_be_published(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="does not exist"):
        node_volumes.publish_filesystem(str(tmp_path / "s"), str(tmp_path / "t"), [], read_only=False)


def test_a_target_with_files_of_its_own_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "file").touch()
    with pytest.raises(OSError, match="not empty"):
        node_volumes.unpublish(str(tmp_path / "target"))


def test_a_raw_device_is_published_as_a_file(device: str, tmp_path: Path) -> None:
    target = str(tmp_path / "pods" / "disk")
    for _ in range(2):
        node_volumes.publish_block(device, target, read_only=False)
    assert devices.number(target) == devices.number(device)
    assert node_volumes.usage(target).total_bytes == 1024**3
    node_volumes.unpublish(target)
    assert not Path(target).exists()


@pytest.mark.parametrize("fs_type", FILE_SYSTEMS)
def test_a_grown_device_grows_its_mounted_file_system_where_the_kernel_lets_it(
    fs_type: str, stage: Callable[..., None], loops: LoopDevices, device: str, staging: str
) -> None:
    stage(fs_type)
    Path(staging, "row").write_text("kept")
    loops.resize(VOLUME, 2)
    if fs_type == "xfs" or may_grow_mounted_ext4():
        assert node_volumes.expand(staging, device) == 2 * 1024**3
        assert not filesystems.grow_if_smaller(device, staging, fs_type)
        assert node_volumes.usage(staging).total_bytes > 1.8 * 1024**3
    else:
        with pytest.raises(GrowthError, match="Permission denied to resize filesystem"):
            node_volumes.expand(staging, device)
        assert node_volumes.usage(staging).total_bytes < 1024**3
    assert Path(staging, "row").read_text() == "kept"


@pytest.mark.parametrize("fs_type", FILE_SYSTEMS)
def test_a_device_that_is_larger_than_its_file_system_is_grown_mounted_when_staged(
    fs_type: str, stage: Callable[..., None], loops: LoopDevices, device: str, staging: str
) -> None:
    stage(fs_type)
    node_volumes.unstage(staging)
    loops.resize(VOLUME, 2)
    if fs_type == "xfs" or may_grow_mounted_ext4():
        stage(fs_type)
        assert node_volumes.usage(staging).total_bytes > 1.8 * 1024**3
        return
    with pytest.raises(GrowthError, match="Permission denied to resize filesystem"):
        stage(fs_type)
    node_volumes.unstage(staging)
    subprocess.run(["e2fsck", "-f", "-p", device], check=True, capture_output=True)
    subprocess.run(["resize2fs", device], check=True, capture_output=True)
    stage(fs_type)
    assert node_volumes.usage(staging).total_bytes > 1.8 * 1024**3


def test_a_stale_device_at_the_staging_path_gives_way(
    stage: Callable[..., None], loops: LoopDevices, staging: str
) -> None:
    stage()
    other = loops.attach("vol-0other", 1)
    node_volumes.stage(other, staging, "ext4", [])
    assert [mount.device for mount in mounts.mounts_at(staging)] == [devices.number(other)]


def test_usage_counts_bytes_and_inodes(stage: Callable[..., None], staging: str) -> None:
    stage()
    before = node_volumes.usage(staging)
    Path(staging, "file").write_bytes(b"x" * (1 << 20))
    subprocess.run(["sync", "-f", staging], check=True)
    after = node_volumes.usage(staging)
    assert before.used_bytes is not None
    assert after.used_bytes is not None
    assert before.inodes_used is not None
    assert after.used_bytes >= before.used_bytes + (1 << 20)
    assert after.inodes_used == before.inodes_used + 1


def test_stage_publish_and_back_through_the_protocol(loops: LoopDevices, device: str, tmp_path: Path) -> None:
    csi_proto = pytest.importorskip(
        "sandbox.standins.csi.csi_proto", reason="python -m tools.toolchain is to run first"
    )
    from sandbox.standins.csi.errors import CsiError
    from sandbox.standins.ebs_csi_driver.node import NodeService, NodeSettings

    csi: Any = csi_proto.csi
    node = NodeService(
        NodeSettings(), lambda: NodeIdentity("i-1", "m5.large", "a", "r", 1, 0), DeviceFinder(loops.by_id_dir)
    )
    mode = csi.VolumeCapability.AccessMode(mode=csi.VolumeCapability.AccessMode.SINGLE_NODE_WRITER)
    capability = csi.VolumeCapability(mount=csi.VolumeCapability.MountVolume(fs_type="ext4"), access_mode=mode)
    staging, target = str(tmp_path / "staging"), str(tmp_path / "target")
    context = {"devicePath": "/dev/xvdaa"}
    common = {"volume_id": VOLUME, "staging_target_path": staging, "volume_capability": capability}
    node.node_stage_volume(csi.NodeStageVolumeRequest(publish_context=context, **common), None)
    node.node_publish_volume(csi.NodePublishVolumeRequest(target_path=target, **common), None)
    stats = node.node_get_volume_stats(csi.NodeGetVolumeStatsRequest(volume_id=VOLUME, volume_path=target), None)
    assert [usage.unit for usage in stats.usage] == [csi.VolumeUsage.BYTES, csi.VolumeUsage.INODES]
    node.node_unpublish_volume(csi.NodeUnpublishVolumeRequest(volume_id=VOLUME, target_path=target), None)
    unstage = csi.NodeUnstageVolumeRequest(volume_id=VOLUME, staging_target_path=staging)
    node.node_unstage_volume(unstage, None)
    assert mounted_below(tmp_path) == []
    unplugged = csi.NodeStageVolumeRequest(publish_context=context, **{**common, "volume_id": "vol-0gone"})
    with pytest.raises(CsiError) as caught:
        node.node_stage_volume(unplugged, None)
    assert caught.value.code is grpc.StatusCode.NOT_FOUND
