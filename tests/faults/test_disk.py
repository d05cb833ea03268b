"""The full disk, beside what else happens to the volume."""

from __future__ import annotations

from contextlib import nullcontext
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any

import pytest

from tools.faults.cases import disk

POINT = "/opt/staging/ebs/mysql/rw"


@pytest.mark.parametrize("after", ["client-1", "client-2"])
def test_room_is_made_where_the_volume_is_by_then(monkeypatch: pytest.MonkeyPatch, after: str) -> None:
    """A drain at the same time has moved it, which takes a while, and one client is gone."""
    monkeypatch.setattr(disk, "settings_of", lambda _stack: None)
    monkeypatch.setattr(disk, "addresses", lambda _settings: ("client-1", "client-2", "client-3"))
    looks, removed = 0, list[tuple[str, str]]()

    def inside(client: str, *words: str) -> CompletedProcess[str]:
        nonlocal looks
        if client == "client-3":
            return CompletedProcess(words, 1, "", "there is no such instance")
        if words[0] == "rm":
            removed.append((client, words[1]))
            return CompletedProcess(words, 0, "", "")
        looks += 1
        has_it = client == after and looks > 2
        return CompletedProcess(words, 0, f"/dev/loop7 {POINT} ext4 rw 0 0\n" if has_it else "", "")

    server = SimpleNamespace(volume="mysql", title="MySQL")
    lane: Any = SimpleNamespace(inside=inside, server=server, stack=SimpleNamespace(diagnosis=lambda: ""))
    lane.waits = lambda *_: nullcontext()
    disk.make_room(lane, 30)
    assert removed == [(after, f"{POINT}/filler")]
