"""The cache holds complete things only, whatever happens to the run that fills it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.settings import PROJECT
from tools.toolchain import cache, progress

FILL_AND_WAIT = """
import sys, time
from pathlib import Path
from tools.toolchain import cache

def fill(folder):
    (folder / "half").write_text("half")
    print("filling", flush=True)
    time.sleep(60)

target = Path(sys.argv[1])
with cache.locked(target.parent):
    cache.publish(target, fill)
"""


def start_filling(target: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock and is half-way through making `target`."""
    command = [sys.executable, "-c", FILL_AND_WAIT, str(target)]
    process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "filling\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=10)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fill_whole(folder: Path) -> None:
    (folder / "whole").write_text("whole")


def test_what_is_published_has_its_name_only_when_it_is_complete(toolchain_root: Path) -> None:
    target = toolchain_root / "thing"

    def fill(folder: Path) -> None:
        assert not target.exists()
        fill_whole(folder)

    assert cache.publish(target, fill) == target
    assert (target / "whole").read_text() == "whole"
    assert names(toolchain_root) == ["thing"]


def test_what_is_there_is_not_made_again(toolchain_root: Path) -> None:
    cache.publish(toolchain_root / "thing", fill_whole)

    def fill(folder: Path) -> None:
        raise AssertionError(folder)

    cache.publish(toolchain_root / "thing", fill)


def test_a_failed_build_leaves_nothing(toolchain_root: Path) -> None:
    def fill(folder: Path) -> None:
        fill_whole(folder)
        raise ValueError("no such module")

    with pytest.raises(ValueError, match="no such module"):
        cache.publish(toolchain_root / "thing", fill)
    assert names(toolchain_root) == []


def test_a_killed_build_leaves_no_half_made_result_and_can_be_run_again(toolchain_root: Path) -> None:
    target = toolchain_root / "thing"
    kill(start_filling(target))
    assert not target.exists()

    with cache.locked(toolchain_root):
        cache.publish(target, fill_whole)

    assert names(target) == ["whole"]
    assert names(toolchain_root) == [".lock", "thing"]


def test_a_second_run_waits_for_the_first_and_says_so(
    toolchain_root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = start_filling(toolchain_root / "thing")
    real_step = progress.step

    def step_then_release(what: str, expected_s: int) -> object:
        kill(first)
        return real_step(what, expected_s)

    monkeypatch.setattr(progress, "step", step_then_release)
    with cache.locked(toolchain_root):
        pass
    assert "waiting for another run" in capsys.readouterr().err


def test_a_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    assert cache.cache_root() == Path.home() / ".cache" / "nomad-stateful"


def test_the_digest_depends_on_where_a_part_ends() -> None:
    assert cache.digest("ab", "c") != cache.digest("a", "bc")
