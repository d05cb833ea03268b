"""Records of instances on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.machine import inventory
from sandbox.machine.errors import CloudError
from sandbox.machine.processes import ProcessRecord
from sandbox.machine.volumes import GIB, VolumeStore
from sandbox.settings import SandboxSettings, parse_settings


@pytest.fixture
def settings(tmp_path: Path) -> SandboxSettings:
    return parse_settings({}, tmp_path)


def record(settings: SandboxSettings, instance_id: str, name: str) -> inventory.InstanceRecord:
    made = inventory.InstanceRecord(instance_id, name, "10.0.0.1", "l", ProcessRecord(1, 1, "another-boot"))
    (settings.instance_dir / instance_id).mkdir(parents=True)
    inventory.save(settings, made)
    return made


def test_an_instance_is_found_by_name_and_by_id(settings: SandboxSettings) -> None:
    made = record(settings, "i-1", "client-1")
    assert inventory.find(settings, "client-1") == inventory.find(settings, "i-1") == made


def test_an_unknown_instance_is_refused_with_those_that_exist(settings: SandboxSettings) -> None:
    record(settings, "i-1", "client-1")
    with pytest.raises(CloudError, match=r"'client-9'.*there are: client-1"):
        inventory.find(settings, "client-9")


def test_a_process_of_another_boot_is_neither_alive_nor_killed(settings: SandboxSettings) -> None:
    made = record(settings, "i-1", "client-1")
    assert not made.alive
    assert not inventory.pull_plug(made)
    with pytest.raises(CloudError, match="is off"):
        inventory.enter("client-1", settings)


def test_a_record_that_was_cut_short_is_left_out(settings: SandboxSettings) -> None:
    record(settings, "i-1", "client-1")
    (settings.instance_dir / "i-2").mkdir()
    (settings.instance_dir / "i-2" / "instance.json").write_text("{")
    assert [one.name for one in inventory.records(settings)] == ["client-1"]


def test_an_image_is_sparse_and_never_becomes_smaller(tmp_path: Path) -> None:
    store = VolumeStore(tmp_path)
    path = store.ensure("vol-00000001", 2)
    assert store.ensure("vol-00000001", 1) == path
    assert path.stat().st_size == 2 * GIB
    assert path.stat().st_blocks == 0


def test_a_snapshot_holds_the_bytes_of_its_moment(tmp_path: Path) -> None:
    store = VolumeStore(tmp_path)
    store.ensure("vol-00000001", 1)
    with store.image("vol-00000001").open("r+b") as image:
        image.write(b"old")
    store.copy("vol-00000001", "snap-00000001")
    with store.image("vol-00000001").open("r+b") as image:
        image.write(b"new")
    store.copy("snap-00000001", "vol-00000002")
    with store.image("vol-00000002").open("rb") as copy:
        assert copy.read(3) == b"old"
    store.remove("vol-00000001")
    store.remove("vol-00000001")
    assert not store.image("vol-00000001").exists()
