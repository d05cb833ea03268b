"""The EBS CSI driver on the sandbox's instances: a volume's whole life, as an orchestrator would lead it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest

from sandbox.cloud import enter
from sandbox.settings import PROJECT
from tests.sandbox.ebs_programs import BOTH, STAND_IN, words
from tests.sandbox.local_cloud import Cloud, place, running_cloud, until
from tools import toolchain
from tools.trial.kernel import may_grow_mounted_ext4

pytestmark = [pytest.mark.sandbox, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

GIB = 1024**3


class Driver:
    """A driver that runs in an instance, and a client of its socket."""

    def __init__(
        self,
        cloud: Cloud,
        instance: str,
        mode: str,
        folder: Path,
        csi: Any,
        program: Sequence[str] = STAND_IN,
        flags: Sequence[str] = (),
    ) -> None:
        self._csi = csi
        socket = folder / f"{instance}-{mode}.sock"
        env = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
        env |= {
            "PYTHONPATH": str(PROJECT),
            "NOMAD_STATEFUL_CSI_PROTO": str(toolchain.csi_proto_dir()),
            "AWS_EC2_ENDPOINT": cloud.settings.ec2_url,
            "AWS_REGION": cloud.settings.region,
        }
        argv = [*enter(instance, cloud.settings), *program, mode, f"--endpoint=unix://{socket}", "--v=5", *flags]
        self.log = folder / f"{instance}-{mode}.log"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(argv, env=env, stderr=output)
        until(lambda: socket.exists() or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()
        self.channel = grpc.insecure_channel(f"unix://{socket}")
        # A socket that is bound and not listened on yet refuses, and the channel then fails every call for a second.
        grpc.channel_ready_future(self.channel).result(timeout=20)

    def __call__(self, method: str, timeout_s: float = 60, **fields: Any) -> Any:
        """Calls a method of the protocol with a request of these fields."""
        service = "Node" if method.startswith("Node") else "Controller"
        request = getattr(self._csi, f"{method}Request")(**fields)
        read = getattr(self._csi, f"{method}Response").FromString
        send = type(request).SerializeToString
        return self.channel.unary_unary(f"/csi.v1.{service}/{method}", send, read)(request, timeout=timeout_s)

    def close(self) -> None:
        self.channel.close()
        self.process.terminate()
        self.process.wait(120)


@pytest.fixture(scope="module")
def csi() -> Any:
    reason = "the CSI protocol's classes are not generated yet: python -m tools.toolchain"
    return pytest.importorskip("sandbox.standins.csi.csi_proto", reason=reason).csi


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running_cloud(*place(tmp_path_factory.mktemp("ebs"))) as running:
        yield running


@pytest.fixture(scope="module", params=BOTH)
def program(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return words(request.param)


@pytest.fixture(scope="module")
def drivers(cloud: Cloud, csi: Any, program: tuple[str, ...]) -> Iterator[Callable[[str, str], Driver]]:
    """Starts drivers by instance and mode, each once."""
    # Instances have a /tmp of their own, and a socket's path has to be short.
    folder = Path(tempfile.mkdtemp(prefix="nstebs-", dir="/var/tmp"))
    running: dict[tuple[str, str], Driver] = {}

    def get(instance: str, mode: str) -> Driver:
        if (instance, mode) not in running:
            running[instance, mode] = Driver(cloud, instance, mode, folder, csi, program)
        return running[instance, mode]

    yield get
    for driver in running.values():
        driver.close()
    shutil.rmtree(folder)


def mounted(csi: Any, fs_type: str) -> Any:
    mode = csi.VolumeCapability.AccessMode(mode=csi.VolumeCapability.AccessMode.SINGLE_NODE_WRITER)
    return csi.VolumeCapability(mount=csi.VolumeCapability.MountVolume(fs_type=fs_type), access_mode=mode)


class Consumer:
    """A volume in use on an instance."""

    def __init__(
        self, cloud: Cloud, controller: Driver, node: Driver, name: str, volume_id: str, capability: Any
    ) -> None:
        self.cloud, self.controller, self.node, self.name = cloud, controller, node, name
        self.volume: dict[str, Any] = {"volume_id": volume_id}
        self.here: dict[str, Any] = {**self.volume, "node_id": cloud.instance(name).instance_id}
        self.capability = {"volume_capability": capability}
        self.staging, self.target = f"/mnt/staging/{volume_id}", f"/mnt/target/{volume_id}"

    def mount(self) -> None:
        context = self.controller("ControllerPublishVolume", **self.here, **self.capability).publish_context
        common = {**self.volume, **self.capability, "publish_context": context, "staging_target_path": self.staging}
        self.node("NodeStageVolume", **common)
        self.node("NodePublishVolume", **common, target_path=self.target)

    def unmount(self) -> None:
        self.node("NodeUnpublishVolume", **self.volume, target_path=self.target)
        self.node("NodeUnstageVolume", **self.volume, staging_target_path=self.staging)
        self.controller("ControllerUnpublishVolume", **self.here)

    def write(self, text: str) -> None:
        self.cloud.run(self.name, f"echo {text} > {self.target}/row; sync")

    def read(self) -> str:
        return self.cloud.run(self.name, f"cat {self.target}/row").strip()

    def size_bytes(self) -> int:
        stats = self.node("NodeGetVolumeStats", **self.volume, volume_path=self.target)
        return int(stats.usage[0].total)


@pytest.fixture
def make(
    cloud: Cloud, drivers: Callable[[str, str], Driver], csi: Any
) -> Iterator[Callable[..., tuple[str, Callable[[str], Consumer]]]]:
    """Creates a volume and gives its id and what makes a consumer of it on an instance."""
    controller, made = drivers("client-1", "controller"), []

    def create(name: str, gib: int = 1, fs_type: str = "ext4", **fields: Any) -> tuple[str, Callable[[str], Consumer]]:
        capability = mounted(csi, fs_type)
        topology = {"requisite": [{"segments": {"topology.ebs.csi.aws.com/zone": "us-west-2a"}}]}
        volume_id = controller(
            "CreateVolume",
            # EC2 remembers the tokens that the drivers make of names.
            name=f"{name}-{id(controller)}",
            volume_capabilities=[capability],
            capacity_range={"required_bytes": gib * GIB},
            accessibility_requirements=topology,
            **fields,
        ).volume.volume_id
        made.append(volume_id)
        return volume_id, lambda on: Consumer(cloud, controller, drivers(on, "node"), on, volume_id, capability)

    yield create
    for volume_id in made:
        controller("DeleteVolume", volume_id=volume_id)


def test_a_node_is_the_instance_it_runs_on(cloud: Cloud, drivers: Callable[[str, str], Driver]) -> None:
    info = drivers("client-2", "node")("NodeGetInfo")
    assert info.node_id == cloud.instance("client-2").instance_id
    assert info.accessible_topology.segments["topology.ebs.csi.aws.com/zone"] == "us-west-2a"
    assert info.max_volumes_per_node > 10


def test_a_volume_moves_from_one_instance_to_the_other_with_its_files(make: Any, cloud: Cloud) -> None:
    volume_id, on = make("moving")
    first, second = on("client-1"), on("client-2")
    first.mount()
    first.write("kept")
    with pytest.raises(grpc.RpcError) as caught:
        second.mount()
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert "VolumeInUse" in str(caught.value.details())
    first.unmount()
    assert cloud.describe(volume_id)["State"] == "available"
    second.mount()
    assert second.read() == "kept"
    second.unmount()


def test_a_mounted_volume_is_not_reported_as_detached(make: Any) -> None:
    _, on = make("busy")
    consumer = on("client-1")
    consumer.mount()
    with pytest.raises(grpc.RpcError) as caught:
        consumer.controller("ControllerUnpublishVolume", **consumer.here, timeout_s=3)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    consumer.node("NodeUnpublishVolume", **consumer.volume, target_path=consumer.target)
    consumer.node("NodeUnstageVolume", **consumer.volume, staging_target_path=consumer.staging)
    # The call that was given up may still be ending.
    until(lambda: detached(consumer))


def detached(consumer: Consumer) -> bool:
    try:
        consumer.controller("ControllerUnpublishVolume", **consumer.here)
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.ABORTED:
            return False
        raise
    return True


def test_a_snapshot_becomes_a_larger_volume_with_the_same_files(make: Any) -> None:
    volume_id, on = make("source", fs_type="xfs")
    source = on("client-1")
    source.mount()
    source.write("kept")
    taken = source.controller("CreateSnapshot", name=f"nightly-{volume_id}", source_volume_id=volume_id).snapshot
    source.unmount()
    content = {"snapshot": {"snapshot_id": taken.snapshot_id}}
    restored = make("restored", gib=2, fs_type="xfs", volume_content_source=content)[1]("client-2")
    restored.mount()
    assert restored.read() == "kept"
    assert restored.size_bytes() > 1.8 * GIB
    restored.unmount()
    source.controller("DeleteSnapshot", snapshot_id=taken.snapshot_id)


def grown(consumer: Consumer) -> None:
    """Has the volume and its device grow under the mounted file system."""
    answer = consumer.controller(
        "ControllerExpandVolume", **consumer.volume, capacity_range={"required_bytes": 2 * GIB}
    )
    assert (answer.capacity_bytes, answer.node_expansion_required) == (2 * GIB, True)


def test_an_xfs_grows_while_it_is_mounted(make: Any) -> None:
    consumer = make("growing-xfs", fs_type="xfs")[1]("client-1")
    consumer.mount()
    grown(consumer)
    assert consumer.node("NodeExpandVolume", **consumer.volume, volume_path=consumer.target).capacity_bytes == 2 * GIB
    assert consumer.size_bytes() > 1.8 * GIB
    consumer.unmount()


def test_an_ext4_grows_while_it_is_mounted_just_where_the_kernel_lets_it(make: Any, cloud: Cloud) -> None:
    """No process may without CAP_SYS_RESOURCE, which some machines take from all."""
    volume_id, on = make("growing-ext4")
    if may_grow_mounted_ext4():
        grows_mounted(on("client-1"))
    else:
        is_not_staged_until_it_is_grown_unmounted(volume_id, on("client-1"), cloud)


def grows_mounted(consumer: Consumer) -> None:
    consumer.mount()
    grown(consumer)
    consumer.node("NodeExpandVolume", **consumer.volume, volume_path=consumer.target)
    assert consumer.size_bytes() > 1.8 * GIB
    consumer.unmount()


def is_not_staged_until_it_is_grown_unmounted(volume_id: str, consumer: Consumer, cloud: Cloud) -> None:
    consumer.mount()
    consumer.write("kept")
    grown(consumer)
    said = rf'Could not resize volume "{volume_id}" .*Permission denied to resize filesystem'
    with pytest.raises(grpc.RpcError) as refused:
        consumer.node("NodeExpandVolume", **consumer.volume, volume_path=consumer.target)
    assert refused.value.code() is grpc.StatusCode.INTERNAL
    assert re.search(said, str(refused.value.details()), re.DOTALL)
    assert consumer.read() == "kept"
    consumer.unmount()
    for _ in range(2):
        with pytest.raises(grpc.RpcError) as refused:
            consumer.mount()
        assert refused.value.code() is grpc.StatusCode.INTERNAL
        assert re.search(said, str(refused.value.details()), re.DOTALL)
        consumer.unmount()
    grow_unmounted(cloud, volume_id)
    consumer.mount()
    assert consumer.read() == "kept"
    assert consumer.size_bytes() > 1.8 * GIB
    consumer.unmount()


def grow_unmounted(cloud: Cloud, volume_id: str) -> None:
    instance_id = cloud.instance("client-1").instance_id
    cloud.ec2.attach_volume(VolumeId=volume_id, InstanceId=instance_id, Device="/dev/xvdcx")
    device = f"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_{volume_id.replace('-', '')}"
    cloud.run("client-1", f"e2fsck -f -p {device} && resize2fs {device}")
    cloud.ec2.detach_volume(VolumeId=volume_id)
