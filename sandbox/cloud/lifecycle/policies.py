"""Lifecycle policies as the service keeps them: for snapshots of volumes in a region, by one tag each."""

from __future__ import annotations

import copy
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sandbox.cloud.lifecycle import times

_DESCRIPTION: Final = re.compile(r"[0-9A-Za-z _-]{1,500}")
_NAME: Final = re.compile(r"[0-9A-Za-z _-]{1,120}")
_KEY: Final = re.compile(r"arn:aws(-[a-z]{1,3}){0,2}:kms:([a-z]+-){2,3}\d:\d+:key/.*")
_MOST_DAYS: Final = 36_500
_SUPPORTED: Final = frozenset(
    {"PolicyType", "PolicyLanguage", "ResourceTypes", "ResourceLocations", "TargetTags", "Schedules"}
)
_MOST_POLICIES: Final = 100
_MOST_SCHEDULES: Final = 4
_MOST_COPIES: Final = 3
_MOST_TAGS: Final = 45
_MOST_KEPT: Final = 1000


class RefusedError(Exception):
    """What the service answers instead: a code and a message."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.status = code, status


@dataclass
class Policy:
    """One policy, its parts as the API has them."""

    policy_id: str
    arn: str
    description: str
    role_arn: str
    state: str
    details: dict[str, Any]
    made: datetime
    seen: datetime
    """Up to when its schedules were followed."""
    tags: dict[str, str] = field(default_factory=dict)
    modified: datetime | None = None

    def shown(self) -> dict[str, Any]:
        """Returns what GetLifecyclePolicy answers of it."""
        return {
            "PolicyId": self.policy_id,
            "PolicyArn": self.arn,
            "Description": self.description,
            "ExecutionRoleArn": self.role_arn,
            "State": self.state,
            "StatusMessage": self.state,
            "DateCreated": self.made.isoformat(timespec="seconds"),
            "DateModified": (self.modified or self.made).isoformat(timespec="seconds"),
            "PolicyDetails": self.details,
            "Tags": self.tags,
            "DefaultPolicy": False,
        }


class Policies:
    """The policies of a region."""

    def __init__(self, arn_prefix: str, region: str, role_exists: Callable[[str], bool]) -> None:
        self._arn_prefix, self._region, self._role_exists = arn_prefix, region, role_exists
        self._held: dict[str, Policy] = {}

    @property
    def all(self) -> list[Policy]:
        """Every policy, the oldest first."""
        return list(self._held.values())

    def get(self, policy_id: str) -> Policy:
        """Returns a policy by its id. Raises RefusedError for one that is not there."""
        if policy_id not in self._held:
            raise RefusedError("ResourceNotFoundException", f"Policy {policy_id} was not found", 404)
        return self._held[policy_id]

    def by_arn(self, arn: str) -> Policy:
        """Returns a policy by its ARN. Raises RefusedError for one that is not there."""
        return self.get(arn.rpartition("/")[2])

    def create(self, request: Mapping[str, Any], now: datetime) -> Policy:
        """CreateLifecyclePolicy."""
        if len(self._held) >= _MOST_POLICIES:
            raise RefusedError("LimitExceededException", f"A region has at most {_MOST_POLICIES} policies", 429)
        if "PolicyDetails" not in request:
            raise _invalid("PolicyDetails is required: the sandbox has no default policies")
        details = checked(request["PolicyDetails"], self._region)
        policy_id = f"policy-{secrets.token_hex(9)[:17]}"
        made = Policy(
            policy_id=policy_id,
            arn=f"{self._arn_prefix}:policy/{policy_id}",
            description=_description(request.get("Description", "")),
            role_arn=self._role(request.get("ExecutionRoleArn", "")),
            state=_state(request.get("State", "")),
            details=details,
            made=now,
            seen=now,
            tags=dict(request.get("Tags") or {}),
        )
        self._held[policy_id] = made
        return made

    def update(self, policy_id: str, request: Mapping[str, Any], now: datetime) -> None:
        """UpdateLifecyclePolicy: what is given is changed, all of it or nothing."""
        policy = self.get(policy_id)
        details = policy.details
        if "PolicyDetails" in request:
            details = checked(request["PolicyDetails"], self._region)
            _check_kind(policy.details, details)
        description = _description(request.get("Description", policy.description))
        role_arn = self._role(request.get("ExecutionRoleArn", policy.role_arn))
        state = _state(request.get("State", policy.state))
        policy.description, policy.role_arn, policy.state, policy.details = description, role_arn, state, details
        policy.modified = policy.seen = now

    def delete(self, policy_id: str) -> None:
        """DeleteLifecyclePolicy: what it took stays, and is deleted by nobody any more."""
        self.get(policy_id)
        del self._held[policy_id]

    def _role(self, arn: str) -> str:
        if not self._role_exists(arn):
            raise _invalid(f"The role {arn} does not exist or cannot be assumed by the service")
        return arn


def checked(given: Mapping[str, Any], region: str) -> dict[str, Any]:
    """Returns details with what the service fills in. Raises RefusedError."""
    if unknown := sorted(set(given) - _SUPPORTED):
        raise _invalid(f"PolicyDetails.{unknown[0]} is not known to the sandbox")
    details = {
        "PolicyType": "EBS_SNAPSHOT_MANAGEMENT",
        "PolicyLanguage": "STANDARD",
        "ResourceLocations": ["CLOUD"],
        **copy.deepcopy(dict(given)),
    }
    if details["PolicyType"] != "EBS_SNAPSHOT_MANAGEMENT" or details["ResourceLocations"] != ["CLOUD"]:
        raise _invalid("the sandbox has snapshots of volumes in a region only")
    if details.get("ResourceTypes") != ["VOLUME"]:
        raise _invalid("ResourceTypes is VOLUME: the sandbox has no snapshots of instances")
    if not details.get("TargetTags"):
        raise _invalid("TargetTags is required")
    schedules = details.get("Schedules") or []
    if not 1 <= len(schedules) <= _MOST_SCHEDULES:
        raise _invalid(f"a policy has from 1 to {_MOST_SCHEDULES} schedules")
    names = [schedule.get("Name", "") for schedule in schedules]
    if len(set(names)) < len(names):
        raise _invalid("the schedules of a policy have names of their own")
    for schedule in schedules:
        _check_schedule(schedule, region)
    return details


def _check_schedule(schedule: Mapping[str, Any], region: str) -> None:
    if not _NAME.fullmatch(schedule.get("Name", "")):
        raise _invalid("a schedule's name is letters, digits, spaces, underscores and hyphens, 120 at most")
    try:
        times.of(schedule.get("CreateRule") or {})
    except ValueError as error:
        raise _invalid(str(error)) from None
    retain = schedule.get("RetainRule") or {}
    if bool(retain.get("Count")) == bool(retain.get("Interval")):
        raise _invalid("RetainRule has Count, or Interval and IntervalUnit")
    if retain.get("Count", 1) > _MOST_KEPT:
        raise _invalid(f"Count is at most {_MOST_KEPT}")
    _check_age(retain)
    if len(schedule.get("TagsToAdd") or []) > _MOST_TAGS:
        raise _invalid(f"TagsToAdd has at most {_MOST_TAGS} tags")
    copies = schedule.get("CrossRegionCopyRules") or []
    if len(copies) > _MOST_COPIES:
        raise _invalid(f"a schedule has at most {_MOST_COPIES} cross-Region copy rules")
    for rule in copies:
        _check_copy(rule, region)


def _check_copy(rule: Mapping[str, Any], region: str) -> None:
    target = rule.get("Target", "")
    if not re.fullmatch(r"([a-z]+-){2,3}\d", target) or target == region:
        raise _invalid(f"Target is another region, not {target or 'nothing'}")
    if "Encrypted" not in rule:
        raise _invalid("CrossRegionCopyRule.Encrypted is required")
    key = rule.get("CmkArn")
    if key and not (_KEY.fullmatch(key) and key.split(":")[3] == target):
        raise _invalid(f"CmkArn is the ARN of a key of {target}")
    _check_age(rule.get("RetainRule") or {})


def _check_age(rule: Mapping[str, Any]) -> None:
    if not rule.get("Interval"):
        return
    if rule.get("IntervalUnit") != "DAYS":
        raise _invalid(f"the sandbox does not have IntervalUnit {rule.get('IntervalUnit')}: write DAYS")
    if not 1 <= rule["Interval"] <= _MOST_DAYS:
        raise _invalid("Interval and IntervalUnit are at most 100 years")


def _check_kind(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """https://docs.aws.amazon.com/ebs/latest/userguide/modify.html"""
    by_count = {one["Name"]: bool(one["RetainRule"].get("Count")) for one in old["Schedules"]}
    for schedule in new["Schedules"]:
        if by_count.get(schedule["Name"], is_count := bool(schedule["RetainRule"].get("Count"))) != is_count:
            raise _invalid("the retention of a schedule cannot be changed from count-based to age-based, or back")


def _description(text: str) -> str:
    if not _DESCRIPTION.fullmatch(text):
        raise _invalid("Description is letters, digits, spaces, underscores and hyphens, 500 at most")
    return text


def _state(state: str) -> str:
    if state not in ("ENABLED", "DISABLED"):
        raise _invalid("State is ENABLED or DISABLED")
    return state


def _invalid(message: str) -> RefusedError:
    return RefusedError("InvalidRequestException", message)
