import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from tools.trial import ground


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of locks of this test's own; nothing stands on any plot but what a test puts there."""
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(ground, "_stands", lambda _ground: False)
    return tmp_path / "nomad-stateful-test-subnets"


def test_each_claim_is_another_sandboxs_and_what_others_hold_is_passed_over(locks: Path) -> None:
    first = ground.claim()
    held = os.open(locks / "10.174.1.0", os.O_CREAT | os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert (first.name, ground.claim().name) == ("nt0", "nt2")
    os.close(held)
    assert ground.claim().name == "nt1"


@pytest.mark.usefixtures("locks")
def test_what_a_killed_test_left_standing_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ground, "_stands", lambda one: one.name == "nt0")
    assert ground.claim().name == "nt1"


def test_a_nomad_server_without_its_bridge_still_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ground, "is_listening", lambda address, port: (str(address), port) == ("10.174.7.1", 4646))
    plots = [ground.Ground(f"no{number}", ground._PLOTS[number]) for number in (6, 7)]
    assert [ground._stands(plot) for plot in plots] == [False, True]
