"""Watches a failover from outside: Nomad's API, EC2's API, the instances' mounts, and a client that writes rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadError
from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.nomad.volume_claims import claims
from tools.faults.background import Background
from tools.faults.lane import Lane
from tools.faults.mount_watch import by_instance

JOB: Final = "mysql-server"
VOLUME: Final = "mysql"
_PAUSE_S: Final = 0.05
_OFF: Final = ("stopped", "terminated")

Look = Callable[[], Iterator[str]]


class Watch(Background):
    """Notes the first time that each moment is seen, from `begin` to `end`."""

    def __init__(self, lane: Lane, lost: Endpoint, instance_id: str) -> None:
        self._lane, self._lost, self._instance_id = lane, lost, instance_id
        self._external_id = str(lane.stack.nomad.get(f"volume/csi/{VOLUME}")["ExternalID"])
        self._folder = lane.settings.volume_dir.resolve()
        super().__init__("failover-watch", self._work)
        self._rows_at_start: int | None = None
        self.lost_at = 0.0
        """When the instance was lost (monotonic), to be set before it begins."""
        self.moments: dict[str, float] = {}
        """Seconds since the loss, by the name of the moment."""

    def _work(self) -> None:
        looks: tuple[Look, ...] = (self._rows, self._mounts, self._client, self._allocations, self._claim, self._ec2)
        while not self.ending.wait(_PAUSE_S):
            for look in looks:
                try:
                    for moment in look():
                        self.moments.setdefault(moment, time.monotonic() - self.lost_at)
                except (NomadError, BotoCoreError, ClientError, OSError):
                    continue  # the next look may find it

    def _rows(self) -> Iterator[str]:
        if "started_s" not in self.moments:
            return
        rows = self._lane.writer.total
        if self._rows_at_start is None:
            self._rows_at_start = rows
        elif rows > self._rows_at_start:
            yield "acknowledged_s"

    def _mounts(self) -> Iterator[str]:
        where = by_instance(self._lane.settings, self._folder).get(self._external_id, frozenset())
        if self._instance_id not in where and self._lost.node_name not in where:
            yield "unmounted_s"

    def _client(self) -> Iterator[str]:
        client = clients.find(self._lane.stack.nomad, self._lost.node_id)
        if client is None or client.status == "down":
            yield "down_s"

    def _allocations(self) -> Iterator[str]:
        for stub in self._lane.stack.nomad.get(f"job/{JOB}/allocations"):
            if stub["ID"] == self._lost.allocation_id or stub["CreateTime"] / 1e9 < self._lost_at_epoch:
                continue
            yield "placed_s"
            if _has_started(stub):
                yield "started_s"

    @property
    def _lost_at_epoch(self) -> float:
        return time.time() - (time.monotonic() - self.lost_at)

    def _claim(self) -> Iterator[str]:
        volume = self._lane.stack.nomad.get(f"volume/csi/{VOLUME}")
        if self._lost.allocation_id not in {claim.alloc_id for claim in claims(volume)}:
            yield "released_s"

    def _ec2(self) -> Iterator[str]:
        ec2 = self._lane.stack.ec2
        attachments = ec2.describe_volumes(VolumeIds=[self._external_id])["Volumes"][0]["Attachments"]
        where = {one["InstanceId"]: one["State"] for one in attachments}
        if self._instance_id not in where:
            yield "detached_s"
        # Before that it is an earlier allocation, restored on a client that was started again, and told to stop.
        placed = "placed_s" in self.moments
        if placed and any(state == "attached" for instance, state in where.items() if instance != self._instance_id):
            yield "attached_s"
        found = ec2.describe_instances(InstanceIds=[self._instance_id])["Reservations"]
        if not found or found[0]["Instances"][0]["State"]["Name"] in _OFF:
            yield "off_s"


def _has_started(stub: Mapping[str, Any]) -> bool:
    state = (stub.get("TaskStates") or {}).get("mysql") or {}
    return any(event["Type"] == "Started" for event in state.get("Events") or [])
