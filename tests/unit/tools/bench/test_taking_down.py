"""A folder goes with its sandbox, and stays while something of the sandbox may be mounted in it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tools.bench.taking_down import remove


def sandbox(folder: Path, status: int, *, bootstrapped: bool = True) -> Any:
    python = folder / "python"
    if bootstrapped:
        python.touch()
    ended = SimpleNamespace(returncode=status, stderr="error: a volume is mounted\n")
    return cast("Any", SimpleNamespace(python=str(python), sandbox=lambda *_words: ended))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    (made / "read-only").mkdir(parents=True)
    (made / "read-only/module.go").touch()
    (made / "read-only").chmod(0o555)
    return made


@pytest.mark.parametrize("bootstrapped", [True, False])
def test_all_goes_when_the_sandbox_is_down_or_never_was_up(folder: Path, bootstrapped: bool) -> None:
    remove(sandbox(folder, 0 if bootstrapped else 1, bootstrapped=bootstrapped), folder, print)
    assert not folder.exists()


def test_nothing_goes_while_the_sandbox_may_be_up(folder: Path) -> None:
    said: list[str] = []
    remove(sandbox(folder, 1), folder, said.append)
    assert (folder / "read-only/module.go").exists()
    assert "a volume is mounted" in said[0]
    assert str(folder) in said[0]
