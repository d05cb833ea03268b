import json
from pathlib import Path

import pytest

from sandbox.machine import loops
from sandbox.machine.errors import CloudError


def listed(
    monkeypatch: pytest.MonkeyPatch, entries: dict[str, str | None], *, refuses: bool = False
) -> list[tuple[str, ...]]:
    """Has losetup list these devices; returns what else it is told to do, which it does or refuses."""
    told: list[tuple[str, ...]] = []

    def run(*words: str) -> str:
        if "--list" in words:
            devices = [{"name": name, "back-file": image} for name, image in entries.items()]
            return json.dumps({"loopdevices": devices})
        told.append(words)
        if refuses:
            raise CloudError("losetup refuses")
        return ""

    monkeypatch.setattr(loops, "run", run)
    return told


def test_a_device_that_goes_while_it_is_listed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    listed(monkeypatch, {"/dev/loop0": None, "/dev/loop1": "/a/vol-1.img", "/dev/loop2": "/b/vol-2.img (deleted)"})
    assert loops.devices() == {"/dev/loop1": Path("/a/vol-1.img"), "/dev/loop2": Path("/b/vol-2.img")}


def test_a_device_that_another_image_has_by_now_is_not_taken_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told = listed(monkeypatch, {"/dev/loop1": "/theirs/vol-1.img"})
    loops.detach("/dev/loop1", Path("/ours/vol-1.img"))
    loops.detach("/dev/loop7", Path("/ours/vol-1.img"))
    assert told == []
    loops.detach("/dev/loop1", Path("/theirs/vol-1.img"))
    assert told == [("losetup", "--detach", "/dev/loop1")]


def test_a_device_that_cannot_be_taken_away_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    listed(monkeypatch, {"/dev/loop1": "/ours/vol-1.img"}, refuses=True)
    with pytest.raises(CloudError, match="losetup refuses"):
        loops.detach("/dev/loop1", Path("/ours/vol-1.img"))
