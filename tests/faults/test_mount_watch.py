"""The watch on the mounts: a volume that is mounted twice at one moment is a violation."""

from pathlib import Path

import pytest

from sandbox.machine import loops
from sandbox.machine.commands import run
from tools.faults.mount_watch import MountWatch, Sample, by_device
from tools.faults.mount_watch import loops as mounted_loops

ALONE: Sample = {"vol-1": frozenset({"client-1"}), "vol-2": frozenset({"client-2"})}
DOUBLE: Sample = {"vol-1": frozenset({"client-1", "client-2"}), "vol-2": frozenset({"client-2"})}


def watched(*samples: Sample) -> MountWatch:
    left = [[sample] for sample in samples]
    watch = MountWatch(lambda: left.pop(0))
    for _ in samples:
        watch.look()
    return watch


def test_a_volume_that_moves_is_no_violation() -> None:
    moved: Sample = {"vol-1": frozenset({"client-2"})}
    watch = watched(ALONE, {}, moved)
    assert watch.violations == []
    assert watch.seen == {"vol-1", "vol-2"}
    assert watch.samples == 3


def test_a_double_mount_is_a_violation_for_as_long_as_it_lasts() -> None:
    watch = watched(ALONE, DOUBLE, DOUBLE, ALONE, DOUBLE)
    assert [(one.volume, one.mounted) for one in watch.violations] == [("vol-1", ("client-1", "client-2"))] * 2
    assert "vol-1 is mounted on client-1 and on client-2" in str(watch.violations[0])


def test_the_loop_devices_of_a_mountinfo_are_found() -> None:
    text = (
        "36 35 7:12 / /mnt/nomad/client/csi/x rw,noatime master:1 - ext4 /dev/loop12 rw\n"
        "37 35 254:0 / / rw - ext4 /dev/vda rw\n"
        "38 35 7:3 /db /srv rw - xfs /dev/loop3 rw\n"
    )
    assert mounted_loops(text) == {"loop3", "loop12"}


@pytest.mark.sandbox
def test_two_devices_over_one_image_are_seen_when_both_are_mounted(tmp_path: Path) -> None:
    image = tmp_path / "vol-1.img"
    with image.open("wb") as file:
        file.truncate(16 << 20)
    run("mkfs.ext4", "-q", image)
    devices = [loops.attach(image), loops.attach(image)]
    points = [tmp_path / "a", tmp_path / "b"]
    mounted: list[Path] = []
    watch = MountWatch(lambda: [by_device(tmp_path)])
    try:
        for device, point in zip(devices, points, strict=True):
            point.mkdir()
            # Read-only and without its journal, so that the kernel takes the same file system twice.
            run("mount", "-o", "ro,noload", device, point)
            mounted.append(point)
            watch.look()
    finally:
        for point in mounted:
            run("umount", point)
        for device in devices:
            loops.detach(device, image)
    assert watch.seen == {"vol-1"}
    assert [one.mounted for one in watch.violations] == [tuple(sorted(devices))]
