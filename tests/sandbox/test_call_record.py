"""Which recorded calls took a volume away from whatever had it mounted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.trial.call_record import Calls, detached_while_mounted


def detach(volume: str, *mounted: str, error: str = "", **params: str) -> dict[str, Any]:
    params = {"VolumeId": volume, "InstanceId": "i-1", **params}
    return {"time": "t", "caller": "role/i-1", "params": params, "error": error, "mounted": [*mounted]}


def test_a_volume_that_was_mounted_counts_once_whoever_asks_again() -> None:
    asked = [detach("vol-1", "/a"), detach("vol-1", "/a"), detach("vol-2"), {"action": "AttachVolume"}]
    assert detached_while_mounted(asked) == [
        "t: role/i-1 detached vol-1 from i-1 while it was mounted at /a",
    ]


def test_force_is_named_and_a_refused_call_counts_too() -> None:
    (told,) = detached_while_mounted([detach("vol-1", "/a", error="RequestLimitExceeded", Force="true")])
    assert "vol-1 from i-1, by force" in told


def test_a_call_about_another_attachment_takes_nothing_away() -> None:
    assert detached_while_mounted([detach("vol-1", "/a", error="InvalidAttachment.NotFound")]) == []


def test_calls_are_those_since_then_without_the_line_that_is_being_written(tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    log.write_text('{"action": "Before"}\n')
    calls = Calls(log)
    with log.open("a") as file:
        file.write(json.dumps({"action": "After", "fault": "drop"}) + '\n{"acti')
    assert calls.read() == calls.struck() == [{"action": "After", "fault": "drop"}]
