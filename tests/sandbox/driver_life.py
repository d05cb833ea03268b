"""A volume's whole life through the EBS driver on the sandbox's instances, in phases by the permissions each needs."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.local_cloud import Cloud, place, running_cloud
from tests.sandbox.test_ebs_driver_instances import GIB, Consumer, Driver, mounted

ROLE = "nomad-client"
ZONE = "us-west-2a"
MANAGED = [{"Key": "ebs.csi.aws.com/cluster", "Value": "true"}]

Call = dict[str, Any]
Life = dict[str, list[Call]]


class Phases:
    """Leads the driver through its life; each phase gives the EC2 calls that were made in it."""

    def __init__(self, cloud: Cloud, controller: Driver, node: Driver, capability: Any) -> None:
        self._cloud, self._controller, self._node, self._capability = cloud, controller, node, capability

    def life(self) -> Life:
        """Every phase, by name."""
        given = self._given_volume()
        phases: Life = {"attach": self._calls_of(lambda: self._use(given))}
        self._cloud.ec2.delete_volume(VolumeId=given)
        made: list[str] = []
        phases["create"] = self._calls_of(lambda: made.append(self._create("made")))
        phases["attach what was made"] = self._calls_of(lambda: self._use(made[0]))
        phases["expand"] = self._calls_of(lambda: self._expand(made[0]))
        phases["snapshot and restore"] = self._calls_of(lambda: self._snapshot_and_restore(made[0]))
        phases["delete"] = self._calls_of(lambda: self._controller("DeleteVolume", volume_id=made[0]))
        return phases

    def _given_volume(self) -> str:
        """A volume that somebody else made and tagged for the driver."""
        return self._cloud.volume(ZONE, TagSpecifications=[{"ResourceType": "volume", "Tags": MANAGED}])

    def _calls_of(self, phase: Callable[[], Any]) -> list[Call]:
        log = self._cloud.settings.log_dir / "ec2-calls.jsonl"
        seen = len(log.read_text().splitlines())
        phase()
        calls = [json.loads(line) for line in log.read_text().splitlines()[seen:]]
        return [call for call in calls if call["service"] == "ec2"]

    def _use(self, volume_id: str) -> None:
        consumer = Consumer(self._cloud, self._controller, self._node, "client-1", volume_id, self._capability)
        consumer.mount()
        consumer.unmount()

    def _create(self, name: str, gib: int = 1, **fields: Any) -> str:
        topology = {"requisite": [{"segments": {"topology.ebs.csi.aws.com/zone": ZONE}}]}
        answer = self._controller(
            "CreateVolume",
            name=name,
            volume_capabilities=[self._capability],
            capacity_range={"required_bytes": gib * GIB},
            accessibility_requirements=topology,
            **fields,
        )
        return str(answer.volume.volume_id)

    def _expand(self, volume_id: str) -> None:
        self._controller("ControllerExpandVolume", volume_id=volume_id, capacity_range={"required_bytes": 2 * GIB})

    def _snapshot_and_restore(self, volume_id: str) -> None:
        taken = self._controller("CreateSnapshot", name="nightly", source_volume_id=volume_id).snapshot.snapshot_id
        self._controller("ListSnapshots", source_volume_id=volume_id)
        restored = self._create("restored", gib=2, volume_content_source={"snapshot": {"snapshot_id": taken}})
        self._controller("DeleteVolume", volume_id=restored)
        self._controller("DeleteSnapshot", snapshot_id=taken)


@contextmanager
def led(program: Sequence[str], home: Path) -> Iterator[Life]:
    """The calls of a driver's whole life, on a cloud of its own."""
    csi = pytest.importorskip("sandbox.standins.csi.csi_proto", reason="python -m tools.toolchain is to run first").csi
    # Instances have a /tmp of their own, and a socket's path has to be short.
    folder = Path(tempfile.mkdtemp(prefix="nsi-", dir="/var/tmp"))
    try:
        with running_cloud(*place(home)) as cloud:
            drivers = [Driver(cloud, "client-1", mode, folder, csi, program) for mode in ("controller", "node")]
            try:
                yield Phases(cloud, drivers[0], drivers[1], mounted(csi, "ext4")).life()
            finally:
                for driver in drivers:
                    driver.close()
    finally:
        shutil.rmtree(folder)
