"""A driver without a node: the cloud is moto's, in this process, and requests are protocol messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from moto import mock_aws
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.elastic_block_store import EBSBackend

from sandbox.standins.ebs_csi_driver.cloud.attachments import Attachments
from sandbox.standins.ebs_csi_driver.cloud.client import ClientSettings, Ec2
from sandbox.standins.ebs_csi_driver.cloud.snapshots import Snapshots
from sandbox.standins.ebs_csi_driver.cloud.volumes import Volume, VolumeRequest, Volumes

if TYPE_CHECKING:
    from sandbox.standins.ebs_csi_driver.controller import ControllerService

REGION = "us-west-2"


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ec2]:
    """The driver's own EC2 client, on an account that is empty."""
    for name in ("AWS_PROFILE", "AWS_EC2_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    monkeypatch.setattr(EBSBackend, "attach_volume", _refusing_a_second_instance(EBSBackend.attach_volume))
    with mock_aws():
        yield Ec2(ClientSettings(region=lambda: REGION))


def _refusing_a_second_instance(original: Callable[..., Any]) -> Callable[..., Any]:
    """Moto lets a volume be attached twice; EC2 does not."""

    def attach_volume(backend: Any, volume_id: str, *rest: Any) -> Any:
        if backend.get_volume(volume_id).attachment:
            raise EC2ClientError("VolumeInUse", f"{volume_id} is already attached to an instance")
        return original(backend, volume_id, *rest)

    return attach_volume


@dataclass(frozen=True)
class Cloud:
    """What the driver has of EC2, and instances for it."""

    ec2: Ec2
    volumes: Volumes
    attachments: Attachments

    def run_instance(self) -> str:
        """Starts an instance in us-west-2a and gives its id."""
        place: Any = {"AvailabilityZone": f"{REGION}a"}
        made = self.ec2.client.run_instances(ImageId="ami-12c6146b", MinCount=1, MaxCount=1, Placement=place)
        return made["Instances"][0]["InstanceId"]

    def make(self, name: str = "v") -> Volume:
        """Makes a volume there."""
        wanted = VolumeRequest(size_gib=2, zone=f"{REGION}a", volume_type="gp3", tags={"CSIVolumeName": name})
        return self.volumes.create(name, wanted)


@pytest.fixture
def cloud(ec2: Ec2) -> Cloud:
    volumes = Volumes(ec2)
    return Cloud(ec2, volumes, Attachments(ec2, volumes))


@pytest.fixture(scope="session")
def csi() -> Any:
    """The protocol's messages."""
    try:
        from sandbox.standins.csi import csi_proto
    except ImportError as error:
        pytest.skip(f"the CSI protocol's classes are not generated yet: python -m tools.toolchain ({error})")
    return csi_proto.csi


@pytest.fixture
def controller(csi: Any, cloud: Cloud) -> ControllerService:
    from sandbox.standins.ebs_csi_driver.controller import ControllerService

    return ControllerService({"Team": "data"}, cloud.volumes, cloud.attachments, Snapshots(cloud.ec2))
