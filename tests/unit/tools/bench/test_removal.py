"""A folder goes with its sandbox, and stays while something of the sandbox may be mounted in it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tools.bench.recorder import Recorder
from tools.bench.run import remove


@pytest.mark.parametrize("down", [True, False])
def test_the_folder_is_removed_only_when_the_sandbox_is_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], down: bool
) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    ended = SimpleNamespace(returncode=int(not down), stderr="error: a volume is mounted\n")

    remove(cast("Any", SimpleNamespace(sandbox=lambda *_words: ended)), folder, Recorder(tmp_path / "samples.csv"))

    assert folder.exists() is not down
    said = capsys.readouterr().err
    assert all(word in said for word in ("a volume is mounted", str(folder))) is not down
