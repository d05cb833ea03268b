"""The judge's own tests, on hand-made histories, and its program as the toolchain builds it."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tools import toolchain
from tools.toolchain.golang import require_go, run_go
from tools.toolchain.pins import PINS

SOURCE = PINS.parent / "judge"
HAND_MADE = SOURCE / "testdata"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return shutil.copytree(SOURCE, tmp_path / "judge")


def judged(*names: str) -> tuple[int, list[dict[str, Any]]]:
    files = [str(HAND_MADE / f"{name}.jsonl") for name in names]
    done = subprocess.run(
        [str(toolchain.ensure_built(toolchain.JUDGE)), "-json", *files],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_every_hand_made_history_gets_its_verdict(copied: Path) -> None:
    go = require_go(copied)
    run_go([go, "vet", "./..."], copied)
    assert run_go([go, "test", "./..."], copied).startswith("ok ")


def test_its_code_is_formatted_as_go_is(copied: Path) -> None:
    gofmt = Path(require_go(copied)).resolve().parent / "gofmt"
    done = subprocess.run([str(gofmt), "-l", "."], cwd=copied, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == ""


def test_a_verdict_is_a_line_for_programs_and_a_status() -> None:
    status, [right, wrong] = judged("list-right", "list-lost")
    assert status == 1
    assert (right["verdict"], right["findings"]) == ("right", [])
    [found] = wrong["findings"]
    assert (wrong["verdict"], found["kind"], found["model"], found["key"]) == ("wrong", "lost", "list", "l")
    assert [one["op"] for one in found["part"]] == ["append", "read"]
    assert judged("list-right")[0] == 0
    assert judged("nothing-read")[0] == 3
