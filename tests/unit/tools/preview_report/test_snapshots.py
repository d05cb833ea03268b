"""What the report says of changes to snapshots on schedule."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from nomad_stateful.ebs.tags import SNAPSHOTS_TAG
from nomad_stateful.resource_types import EC2_TAG, LIFECYCLE_POLICY
from tests.unit.tools.preview_report.test_report import report_of, step

COPY = {"target": "eu-central-1", "retainRule": {"interval": 30, "intervalUnit": "DAYS"}}
DAILY = {"name": "daily", "retainRule": {"count": 14}, "crossRegionCopyRules": [COPY]}
WEEKLY = {"name": "weekly", "retainRule": {"interval": 8, "intervalUnit": "WEEKS"}}
NOW: dict[str, Any] = {"state": "ENABLED", "policyDetails": {"schedules": [DAILY, WEEKLY]}}


def warnings(operation: str, then: dict[str, Any] | None) -> list[str]:
    """What is said of a change of the policy."""
    states = {"oldState": {"type": LIFECYCLE_POLICY, "inputs": NOW}}
    states |= {"newState": {"type": LIFECYCLE_POLICY, "inputs": then}} if then else {}
    return harmless(step(operation, LIFECYCLE_POLICY, "snapshots-of-data", **states))


def harmless(changed: dict[str, Any]) -> list[str]:
    """The warnings of a step that is green."""
    verdict = report_of(changed).verdict
    assert verdict.is_green
    return list(verdict.warnings)


def changed(change: Callable[[dict[str, Any]], None]) -> list[str]:
    """What is said of an update."""
    then = copy.deepcopy(NOW)
    change(then)
    return warnings("update", then)


@pytest.mark.parametrize(
    ("schedule", "change", "said"),
    [
        (0, {"retainRule": {"count": 3}}, "daily keeps 3 snapshots instead of 14: 11 are deleted with the next one."),
        (1, {"retainRule": {"interval": 7, "intervalUnit": "DAYS"}}, "weekly keeps snapshots for 7 days instead of 56"),
        (0, {"crossRegionCopyRules": []}, "daily no longer copies to eu-central-1."),
        (
            0,
            {"crossRegionCopyRules": [COPY | {"retainRule": {"interval": 5, "intervalUnit": "DAYS"}}]},
            "daily keeps copies in eu-central-1 for 5 days instead of 30.",
        ),
        (0, {"name": "nightly"}, "schedule daily ends. What it took stays, and nobody deletes it."),
    ],
)
def test_what_would_be_kept_less_is_said(schedule: int, change: dict[str, Any], said: str) -> None:
    (warning,) = changed(lambda then: then["policyDetails"]["schedules"][schedule].update(change))
    assert warning.startswith("`snapshots-of-data`: schedule")
    assert said in warning


def test_what_is_kept_longer_is_no_warning() -> None:
    assert changed(lambda then: then["policyDetails"]["schedules"][0].update(retainRule={"count": 15})) == []


def test_a_policy_that_goes_is_said_with_what_becomes_of_its_snapshots() -> None:
    assert "no more snapshots are taken. Those that exist stay" in warnings("delete", None)[0]
    assert "is replaced: what it took stays" in warnings("replace", NOW)[0]
    assert changed(lambda then: then.update(state="DISABLED")) == [
        "`snapshots-of-data` is disabled: no more snapshots are taken."
    ]


@pytest.mark.parametrize(
    ("operation", "key", "said"),
    [
        ("delete", SNAPSHOTS_TAG, ["`tag` is deleted: no more snapshots of vol-1 are taken. Those that exist stay."]),
        ("replace", SNAPSHOTS_TAG, ["`tag` is given to another volume: no more snapshots of vol-1 are taken. Those"]),
        ("update", SNAPSHOTS_TAG, []),
        ("delete", "team", []),
    ],
)
def test_a_volume_that_loses_the_tag_of_its_schedule_is_named(operation: str, key: str, said: list[str]) -> None:
    state = {"type": EC2_TAG, "inputs": {"resourceId": "vol-1", "key": key, "value": "project/prod/ledger"}}
    warned = harmless(step(operation, EC2_TAG, "tag", oldState=state))
    assert [one[: len(start)] for one, start in zip(warned, said, strict=True)] == said
