"""What each driver answers to requests that it refuses or that are repeated: the stand-in is as strict as the other."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

from nomad_stateful.drivers import ebs_flags
from nomad_stateful.drivers.ebs import DRIVER
from tests import official_parts
from tests.sandbox.ebs_programs import words
from tests.sandbox.local_cloud import Cloud, place, running_cloud
from tests.sandbox.test_ebs_driver_instances import GIB, Consumer, Driver, csi, drivers, make, mounted, program

__all__ = ["csi", "drivers", "make", "program"]

pytestmark = [pytest.mark.sandbox, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

Code = grpc.StatusCode
Drivers = Callable[[str, str], Driver]
VOLUME, SNAPSHOT, NODE = "vol-0123456789abcdef0", "snap-0123456789abcdef0", "i-0123456789abcdef0"
ZONE_KEY = "topology.ebs.csi.aws.com/zone"
ZONE = {"requisite": [{"segments": {ZONE_KEY: "us-west-2a"}}]}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running_cloud(*place(tmp_path_factory.mktemp("answers"))) as running:
        yield running


def answer(call: Callable[[], Any]) -> Code:
    """The status a call ends with."""
    try:
        call()
    except grpc.RpcError as error:
        code: Code = error.code()
        return code
    return Code.OK


def access(csi: Any, mode: str, attachment: str) -> Any:
    number = csi.VolumeCapability.AccessMode.Mode.Value(mode.upper().replace("-", "_"))
    access_mode = csi.VolumeCapability.AccessMode(mode=number)
    if attachment == "block-device":
        return csi.VolumeCapability(block=csi.VolumeCapability.BlockVolume(), access_mode=access_mode)
    return csi.VolumeCapability(mount=csi.VolumeCapability.MountVolume(), access_mode=access_mode)


ACCESS = [
    (mode, attachment)
    for mode in (
        "single-node-writer",
        "single-node-reader-only",
        "multi-node-reader-only",
        "multi-node-single-writer",
        "multi-node-multi-writer",
    )
    for attachment in ("file-system", "block-device")
]
MULTI_ATTACH = ("multi-node-multi-writer", "block-device")


@pytest.mark.parametrize(("mode", "attachment"), ACCESS)
def test_settings_accept_the_access_that_the_driver_attaches_for(
    mode: str, attachment: str, csi: Any, cloud: Cloud, drivers: Drivers
) -> None:
    node_id = cloud.instance("client-1").instance_id
    asked = {"volume_id": VOLUME, "node_id": node_id, "volume_capability": access(csi, mode, attachment)}
    code = answer(lambda: drivers("client-1", "controller")("ControllerPublishVolume", **asked))
    # What it accepts fails at the next step: there is no such volume.
    accepts = {Code.INTERNAL: True, Code.INVALID_ARGUMENT: False}[code]
    in_settings = mode in DRIVER.access_modes and attachment in DRIVER.attachment_modes
    assert accepts is (in_settings or (mode, attachment) == MULTI_ATTACH)


@pytest.mark.parametrize("fs_type", ["", "ext2", "ext3", "ext4", "nfs", "ntfs", "xfs", "XFS"])
def test_settings_accept_the_file_systems_that_the_driver_mounts(fs_type: str, csi: Any, drivers: Drivers) -> None:
    asked = {
        "volume_id": VOLUME,
        "staging_target_path": "/mnt/staging/none",
        "volume_capability": mounted(csi, fs_type),
        "publish_context": {"devicePath": "/dev/xvdba"},
    }
    code = answer(lambda: drivers("client-1", "node")("NodeStageVolume", **asked))
    accepts = {Code.NOT_FOUND: True, Code.INVALID_ARGUMENT: False}[code]
    # The driver makes ntfs on Windows, and reads a type in capital letters.
    assert accepts is (fs_type.lower() in {*DRIVER.fs_types, "", "ntfs"})


@pytest.mark.official(official_parts.EBS)
@pytest.mark.parametrize(
    ("mode", "flags"),
    [
        ("controller", ebs_flags.COMMON | ebs_flags.CONTROLLER_ONLY),
        ("node", ebs_flags.COMMON | ebs_flags.NODE_ONLY),
    ],
)
def test_the_flags_that_settings_let_through_are_the_official_drivers(mode: str, flags: frozenset[str]) -> None:
    told = subprocess.run([*words("official"), mode, "--help"], check=False, capture_output=True, text=True).stderr
    assert set(re.findall(r"^ +(?:-v, )?--([\w-]+)", told, re.MULTILINE)) == flags


CONTROLLER: list[tuple[str, dict[str, Any], Code]] = [
    ("DeleteVolume", {"volume_id": VOLUME}, Code.OK),
    ("DeleteVolume", {"volume_id": "nonsense"}, Code.OK),
    ("ControllerExpandVolume", {"volume_id": VOLUME, "capacity_range": {"required_bytes": GIB}}, Code.INTERNAL),
    ("ControllerModifyVolume", {"volume_id": VOLUME, "mutable_parameters": {"iops": "4000"}}, Code.INTERNAL),
    ("ControllerModifyVolume", {"volume_id": VOLUME, "mutable_parameters": {"x": "1"}}, Code.INVALID_ARGUMENT),
    ("ControllerUnpublishVolume", {"volume_id": VOLUME, "node_id": NODE}, Code.OK),
    ("CreateSnapshot", {"name": "s", "source_volume_id": VOLUME}, Code.INTERNAL),
    ("DeleteSnapshot", {"snapshot_id": SNAPSHOT}, Code.OK),
    ("DeleteSnapshot", {"snapshot_id": "nonsense"}, Code.OK),
    ("ListSnapshots", {"snapshot_id": SNAPSHOT}, Code.INTERNAL),
    ("ListSnapshots", {"source_volume_id": VOLUME}, Code.OK),
    ("ListSnapshots", {"max_entries": 4}, Code.INVALID_ARGUMENT),
    ("ListSnapshots", {"max_entries": 5}, Code.OK),
    ("ListSnapshots", {"max_entries": -1}, Code.OK),
]


@pytest.mark.parametrize(("call", "fields", "code"), CONTROLLER, ids=lambda value: str(value)[:40])
def test_a_call_about_what_is_not_there(call: str, fields: dict[str, Any], code: Code, drivers: Drivers) -> None:
    assert answer(lambda: drivers("client-1", "controller")(call, **fields)) is code


def test_the_capabilities_of_an_unknown_volume_are_not_told(csi: Any, drivers: Drivers) -> None:
    asked: dict[str, Any] = {"volume_id": VOLUME, "volume_capabilities": [mounted(csi, "ext4")]}
    assert answer(lambda: drivers("client-1", "controller")("ValidateVolumeCapabilities", **asked)) is Code.INTERNAL


CREATE: list[tuple[dict[str, Any], Code]] = [
    ({"parameters": {"type": "nonsense"}}, Code.INTERNAL),
    ({"parameters": {"nonsense": "1"}}, Code.INVALID_ARGUMENT),
    ({"parameters": {"type": "io1"}}, Code.INTERNAL),
    ({"parameters": {"type": "io1", "iopsPerGB": "1"}}, Code.INTERNAL),
    ({"parameters": {"type": "gp3", "iops": "90000"}}, Code.INTERNAL),
    ({"parameters": {"type": "gp3", "iops": "4000", "iopsPerGB": "500"}}, Code.INTERNAL),
    ({"capacity_range": {"required_bytes": 2 * GIB, "limit_bytes": GIB}}, Code.INVALID_ARGUMENT),
    ({"volume_content_source": {"snapshot": {"snapshot_id": SNAPSHOT}}}, Code.NOT_FOUND),
    ({"volume_content_source": {"volume": {"volume_id": VOLUME}}}, Code.INVALID_ARGUMENT),
    (
        {"accessibility_requirements": {"requisite": [{"segments": {ZONE_KEY: "us-west-2q"}}]}},
        Code.INTERNAL,
    ),
]


@pytest.mark.parametrize(("fields", "code"), CREATE, ids=lambda value: str(value)[:60])
def test_a_volume_that_cannot_be_made(
    fields: dict[str, Any], code: Code, csi: Any, drivers: Drivers, request: pytest.FixtureRequest
) -> None:
    asked = {
        # EC2 remembers the tokens that the drivers make of names.
        "name": request.node.name,
        "volume_capabilities": [mounted(csi, "ext4")],
        "capacity_range": {"required_bytes": 4 * GIB},
        "accessibility_requirements": ZONE,
        **fields,
    }
    assert answer(lambda: drivers("client-1", "controller")("CreateVolume", **asked)) is code


def test_a_volume_of_a_name_is_the_same_while_it_is_asked_for_alike(make: Any) -> None:
    first, again = make("alike")[0], make("alike")[0]
    assert first == again
    with pytest.raises(grpc.RpcError) as refused:
        make("alike", gib=2)
    assert refused.value.code() is Code.ALREADY_EXISTS
    # The driver takes another token after that: the name no longer stands for the first volume.
    assert make("alike")[0] != first


def test_what_is_in_use_is_refused(make: Any, csi: Any, drivers: Drivers) -> None:
    volume_id, on = make("in-use")
    here: Consumer = on("client-1")
    assert (
        answer(
            lambda: here.controller(
                "ControllerPublishVolume", volume_id=volume_id, node_id=NODE, volume_capability=mounted(csi, "ext4")
            )
        )
        is Code.NOT_FOUND
    )
    here.mount()
    assert answer(lambda: here.controller("DeleteVolume", volume_id=volume_id)) is Code.INTERNAL
    assert answer(lambda: here.controller("ControllerPublishVolume", **here.here, **here.capability)) is Code.OK
    assert answer(lambda: here.node("NodeExpandVolume", **here.volume, volume_path="/mnt/none")) is Code.INTERNAL
    assert answer(lambda: here.node("NodeExpandVolume", **here.volume, volume_path=here.target)) is Code.OK
    assert answer(lambda: here.node("NodeGetVolumeStats", **here.volume, volume_path="/mnt/none")) is Code.NOT_FOUND
    context = {"publish_context": {"devicePath": "/dev/xvdaa"}, **here.volume, **here.capability}
    assert answer(lambda: here.node("NodeStageVolume", **context, staging_target_path=here.staging)) is Code.OK
    published = {**context, "staging_target_path": here.staging, "target_path": here.target, "readonly": True}
    assert answer(lambda: here.node("NodePublishVolume", **published)) is Code.OK
    other = {**context, "volume_capability": mounted(csi, "xfs"), "staging_target_path": "/mnt/other"}
    assert answer(lambda: here.node("NodeStageVolume", **other)) is Code.INTERNAL
    unstaged = {**context, "staging_target_path": "/mnt/none", "target_path": "/mnt/target/none"}
    assert answer(lambda: here.node("NodePublishVolume", **unstaged)) is Code.INTERNAL
    here.unmount()
