"""Attaching volumes to instances and taking them off."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from threading import Lock
from typing import Any, Final

from sandbox.standins.ebs_csi_driver.cloud.client import Ec2
from sandbox.standins.ebs_csi_driver.cloud.errors import CloudError, Kind, translated
from sandbox.standins.ebs_csi_driver.cloud.volumes import Attachment, Volume, Volumes
from sandbox.standins.ebs_csi_driver.cloud.waiting import until
from sandbox.standins.ebs_csi_driver.device_names import free_name
from sandbox.standins.ebs_csi_driver.version import since

ATTACH_TIMEOUT_S: Final = 60.0
DETACH_TIMEOUT_S: Final = 120.0
_NAME_ATTEMPTS: Final = 5


class Attachments:
    """Attaches and detaches; what happens to one instance happens one after the other."""

    def __init__(self, ec2: Ec2, volumes: Volumes) -> None:
        self._ec2 = ec2
        self._volumes = volumes
        self._locks: defaultdict[str, Lock] = defaultdict(Lock)
        self._locks_guard = Lock()

    def _lock(self, instance_id: str) -> Lock:
        with self._locks_guard:
            return self._locks[instance_id]

    def attach(self, volume_id: str, instance_id: str, *, timeout_s: float = ATTACH_TIMEOUT_S) -> str:
        """Attaches the volume, waits until it is attached, and gives its device name; attached already is fine.

        CloudError NOT_FOUND for an unknown volume, NO_INSTANCE, IN_USE where it is elsewhere, LIMIT without a name.
        """
        names = self._device_names(instance_id)
        volume = self._volumes.get(volume_id)
        here = _on(volume, instance_id)
        if here is not None and here.state == "detaching":
            self._wait_detached(volume_id, instance_id, timeout_s)
            volume, here = self._volumes.get(volume_id), None
        if here is None:
            with self._lock(instance_id):
                self._attach(volume_id, instance_id, names)
        return self._wait_attached(volume_id, instance_id, timeout_s)

    def _attach(self, volume_id: str, instance_id: str, seen: set[str]) -> None:
        """Choose a name and attach; another controller may take the same name first."""
        refused: set[str] = set()
        for attempt in range(1, _NAME_ATTEMPTS + 1):
            device = free_name(self._device_names(instance_id) | refused)
            if device is None:
                raise CloudError(Kind.LIMIT, f"instance {instance_id} has no free device name ({len(seen)} in use)")
            try:
                with translated():
                    self._ec2.client.attach_volume(VolumeId=volume_id, InstanceId=instance_id, Device=device)
                return
            except CloudError as error:
                # An attempt that was not answered may have done it.
                if error.aws_code == "VolumeInUse" and _on(self._volumes.get(volume_id), instance_id):
                    return
                taken = error.aws_code == "InvalidParameterValue" and device in str(error)
                if not taken or attempt == _NAME_ATTEMPTS:
                    raise
                refused.add(device)

    def _device_names(self, instance_id: str) -> set[str]:
        """Names in use on the instance; CloudError NO_INSTANCE when there is no such instance, or no more."""
        with translated():
            answer = self._ec2.client.describe_instances(InstanceIds=[instance_id])
        found = [item for reservation in answer["Reservations"] for item in reservation.get("Instances", [])]
        if not found or found[0].get("State", {}).get("Name") == "terminated":
            raise CloudError(Kind.NO_INSTANCE, f"instance {instance_id} does not exist")
        if since(1, 59):
            self._ask_limits(found[0].get("InstanceType", ""))
        return {mapping.get("DeviceName", "") for mapping in found[0].get("BlockDeviceMappings", [])}

    def _ask_limits(self, instance_type: Any) -> None:
        """How many volumes the instance may have; without an answer EC2 decides, as it does anyway."""
        with suppress(CloudError), translated():
            self._ec2.client.describe_instance_types(InstanceTypes=[instance_type])

    def _wait_attached(self, volume_id: str, instance_id: str, timeout_s: float) -> str:
        states: list[str] = ["not attached"]

        def look() -> str | None:
            here = _on(self._volumes.get(volume_id), instance_id)
            states[0] = here.state if here else "not attached"
            return here.device if here and here.state == "attached" else None

        return until(
            look,
            timeout_s=timeout_s,
            what=lambda: f"volume {volume_id} is {states[0]} on instance {instance_id}, not attached yet",
        )

    def detach(self, volume_id: str, instance_id: str, *, timeout_s: float = DETACH_TIMEOUT_S) -> None:
        """Detaches the volume and waits until it is; not attached or gone is fine. CloudError TIMEOUT while busy."""
        try:
            here = _on(self._volumes.get(volume_id), instance_id)
            if here is None:
                return
            if here.state != "detaching":
                with self._lock(instance_id), translated():
                    self._ec2.client.detach_volume(VolumeId=volume_id, InstanceId=instance_id)
        except CloudError as error:
            # IncorrectState: the volume came off between the look and the call.
            if error.kind is not Kind.NOT_FOUND and error.aws_code != "IncorrectState":
                raise
        self._wait_detached(volume_id, instance_id, timeout_s)

    def _wait_detached(self, volume_id: str, instance_id: str, timeout_s: float) -> None:
        states: list[str] = [""]

        def look() -> bool | None:
            try:
                here = _on(self._volumes.get(volume_id), instance_id)
            except CloudError as error:
                if error.kind is Kind.NOT_FOUND:
                    return True
                raise
            states[0] = here.state if here else "detached"
            return None if here else True

        until(
            look,
            timeout_s=timeout_s,
            what=lambda: (
                f"volume {volume_id} is still {states[0]} on instance {instance_id}"
                + (": something on it has the volume mounted" if states[0] == "busy" else "")
            ),
        )


def _on(volume: Volume, instance_id: str) -> Attachment | None:
    return next((item for item in volume.attachments if item.instance_id == instance_id), None)
