"""What EC2 tells an instance before it takes it away, and that it does."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sandbox.cloud import notices
from sandbox.machine import metadata
from sandbox.settings import SandboxError, SandboxSettings, parse_settings
from tests.unit.sandbox.cloud.test_metadata import FACTS

TIME = "2026-01-02T03:04:05Z"


@pytest.fixture
def settings(tmp_path: Path) -> SandboxSettings:
    (tmp_path / "ec2").mkdir()
    return parse_settings({}, tmp_path)


def told(kind: str, path: str) -> str | None:
    facts = replace(FACTS, notices=notices.Notice("i-1", kind, TIME).metadata())
    return metadata.lookup(metadata.build(facts, lambda: "c"), f"/latest/meta-data/{path}")


def test_each_notice_is_where_the_metadata_service_has_it() -> None:
    assert json.loads(told("spot", "spot/instance-action") or "") == {"action": "terminate", "time": TIME}
    assert told("spot", "spot/termination-time") == TIME
    assert told("lifecycle", "autoscaling/target-lifecycle-state") == "Terminated"
    assert json.loads(told("rebalance", "events/recommendations/rebalance") or "") == {"noticeTime": TIME}
    assert told("rebalance", "events/maintenance/scheduled") == "[]"


@pytest.mark.parametrize("path", ["spot/instance-action", "autoscaling/target-lifecycle-state"])
def test_an_instance_that_stays_has_none(path: str) -> None:
    assert metadata.lookup(metadata.build(FACTS, lambda: "c"), f"/latest/meta-data/{path}") is None


def test_an_instance_is_taken_away_at_its_time_and_once(settings: SandboxSettings) -> None:
    for name, kind in (("i-1", "spot"), ("i-2", "rebalance"), ("i-3", "lifecycle")):
        notices.give(settings, name, kind, 120 if name == "i-1" else 600)
    path, gone, now = notices.notice_file(settings), list[str](), datetime.now(UTC)
    assert notices.carry_out(path, gone.append, now) == []
    assert notices.carry_out(path, gone.append, now + timedelta(seconds=121)) == ["i-1"]
    assert notices.carry_out(path, gone.append, now + timedelta(seconds=121)) == []
    notices.take_back(settings, "i-3")
    notices.carry_out(path, gone.append, now + timedelta(days=1))
    assert gone == ["i-1"]


def test_a_notice_that_is_none_is_refused(settings: SandboxSettings) -> None:
    with pytest.raises(SandboxError, match="spot, lifecycle, rebalance"):
        notices.give(settings, "i-1", "maintenance")
    with pytest.raises(SandboxError, match="at least 1 s"):
        notices.give(settings, "i-1", "spot", 0)
