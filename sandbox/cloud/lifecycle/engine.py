"""What the service does by its policies: takes snapshots of tagged volumes, copies them, and deletes what is over.

https://docs.aws.amazon.com/ebs/latest/userguide/dlm-elements.html
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sandbox.cloud.lifecycle import times
from sandbox.cloud.lifecycle.clock import Clock
from sandbox.cloud.lifecycle.policies import Policies, Policy

_POLICY: Final = "aws:dlm:lifecycle-policy-id"
_SCHEDULE: Final = "aws:dlm:lifecycle-schedule-name"
_EXPIRES: Final = "aws:dlm:expirationTime"
_MANAGED: Final = "dlm:managed"
_AWS: Final = "aws:"

Backend = Callable[[str], Any]
"""Returns moto's EC2 of a region."""


@dataclass(frozen=True)
class Event:
    """Something that was done, and when by the service's clock."""

    time: datetime
    action: str
    """taken, copied or deleted"""
    snapshot_id: str
    region: str
    volume_id: str
    schedule: str

    def __str__(self) -> str:
        at = self.time.strftime("%Y-%m-%d %H:%M")
        return f"{at}  {self.action:<7}  {self.snapshot_id}  {self.region}  {self.volume_id}  {self.schedule}"


class Engine:
    """Follows the policies of all regions, up to the moment that its clock shows."""

    def __init__(self, clock: Clock, policies: dict[str, Policies], backend: Backend) -> None:
        self._clock, self._policies, self._backend = clock, policies, backend
        self._made: dict[str, list[str]] = {}
        """Ids of snapshots by region: moto has thousands of its own."""
        self._lock = threading.Lock()

    def catch_up(self) -> list[Event]:
        """Does everything that is due by now, in the order of the schedules, and returns it."""
        with self._lock:
            until = self._clock.now()
            due = sorted(self._due(until), key=lambda one: one[0])
            events: list[Event] = []
            for moment, region, policy, schedule in due:
                # Never a second time, even where something fails below.
                policy.seen = moment
                events += self._expire(moment)
                events += self._run(moment, region, policy, schedule)
            events += self._expire(until)
            for _, policy in self._enabled():
                policy.seen = until
            return events

    def _enabled(self) -> Iterator[tuple[str, Policy]]:
        for region, policies in list(self._policies.items()):
            yield from ((region, policy) for policy in policies.all if policy.state == "ENABLED")

    def _due(self, until: datetime) -> Iterator[tuple[datetime, str, Policy, dict[str, Any]]]:
        for region, policy in self._enabled():
            for schedule in policy.details["Schedules"]:
                for moment in times.of(schedule["CreateRule"]).between(policy.seen, until):
                    yield moment, region, policy, schedule

    def _run(self, now: datetime, region: str, policy: Policy, schedule: dict[str, Any]) -> Iterator[Event]:
        backend = self._backend(region)
        wanted = {(tag["Key"], tag["Value"]) for tag in policy.details["TargetTags"]}
        for volume in [one for one in backend.volumes.values() if wanted & set(_tags(one).items())]:
            snapshot = backend.create_snapshot(volume.id, f"Created for policy: {policy.policy_id}")
            own = _tags(volume) if schedule.get("CopyTags") else {}
            added = {tag["Key"]: tag["Value"] for tag in schedule.get("TagsToAdd") or []}
            _stamp(snapshot, now, {**own, **added}, _marks(policy, schedule["Name"]), schedule["RetainRule"])
            self._made.setdefault(region, []).append(snapshot.id)
            yield Event(now, "taken", snapshot.id, region, volume.id, schedule["Name"])
            yield from self._copy(now, region, snapshot, policy, schedule)
            yield from self._thin(now, region, volume.id, policy, schedule)

    def _copy(
        self, now: datetime, region: str, snapshot: Any, policy: Policy, schedule: dict[str, Any]
    ) -> Iterator[Event]:
        for rule in schedule.get("CrossRegionCopyRules") or []:
            target = rule["Target"]
            made = self._backend(target).copy_snapshot(
                source_snapshot_id=snapshot.id,
                source_region=region,
                description=f"Copied for policy: {policy.policy_id}",
                kms_key_id=rule.get("CmkArn"),
            )
            made.encrypted = made.encrypted or rule["Encrypted"]
            tags = _tags(snapshot) if rule.get("CopyTags") else {}
            _stamp(made, now, tags, _marks(policy, schedule["Name"]), rule.get("RetainRule") or {})
            self._made.setdefault(target, []).append(made.id)
            yield Event(now, "copied", made.id, target, snapshot.volume.id, schedule["Name"])

    def _thin(
        self, now: datetime, region: str, volume_id: str, policy: Policy, schedule: dict[str, Any]
    ) -> Iterator[Event]:
        """Deletes what is beyond the number that is kept of a volume."""
        if count := schedule["RetainRule"].get("Count"):
            own = self._of(region, policy, schedule["Name"], volume_id)
            for snapshot in own[: max(0, len(own) - count)]:
                yield self._delete(now, region, snapshot, schedule["Name"])

    def _expire(self, now: datetime) -> Iterator[Event]:
        """Deletes what has reached its age, copies too; of a volume that is gone the last one stays."""
        for region, policy in self._enabled():
            for schedule in policy.details["Schedules"]:
                places = {region, *(rule["Target"] for rule in schedule.get("CrossRegionCopyRules") or [])}
                for place in sorted(places):
                    for snapshot in self._of(place, policy, schedule["Name"]):
                        expires = _tags(snapshot).get(_EXPIRES)
                        if expires is None or datetime.fromisoformat(expires) > now:
                            continue
                        volume_id = snapshot.volume.id
                        gone = volume_id not in self._backend(region).volumes
                        if gone and len(self._of(place, policy, schedule["Name"], volume_id)) == 1:
                            continue
                        yield self._delete(now, place, snapshot, schedule["Name"])

    def _of(self, region: str, policy: Policy, schedule: str, volume_id: str = "") -> list[Any]:
        """Returns what a schedule made and is still there in a region, the oldest first."""
        marks = _marks(policy, schedule).items()
        there = self._backend(region).snapshots
        self._made[region] = [one for one in self._made.get(region, []) if one in there]
        found = [there[one] for one in self._made[region] if marks <= _tags(there[one]).items()]
        return sorted((one for one in found if volume_id in ("", one.volume.id)), key=lambda one: one.start_time)

    def _delete(self, now: datetime, region: str, snapshot: Any, schedule: str) -> Event:
        self._backend(region).delete_snapshot(snapshot.id)
        return Event(now, "deleted", snapshot.id, region, snapshot.volume.id, schedule)


def _stamp(snapshot: Any, now: datetime, tags: dict[str, str], made_by: dict[str, str], retain: dict[str, Any]) -> None:
    """Gives a snapshot its time, and the tags by which it is found again."""
    expires = times.expiry(now, retain)
    age = {} if expires is None else {_EXPIRES: expires.isoformat(timespec="seconds")}
    snapshot.start_time = now.replace(tzinfo=None)
    own = {key: value for key, value in tags.items() if not key.startswith(_AWS)}
    snapshot.add_tags({**own, _MANAGED: "true"})
    # Nobody else may set tags of these keys, so EC2's own way to set tags refuses them.
    snapshot.ec2_backend.tags[snapshot.id] |= {**made_by, **age}


def _marks(policy: Policy, schedule: str) -> dict[str, str]:
    return {_POLICY: policy.policy_id, _SCHEDULE: schedule}


def _tags(thing: Any) -> dict[str, str]:
    return {tag["key"]: tag["value"] for tag in thing.get_tags()}
