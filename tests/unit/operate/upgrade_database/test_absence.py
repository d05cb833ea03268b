"""How long a server is away while it is upgraded."""

from types import SimpleNamespace
from typing import Any

import pytest

from nomad_stateful.databases.upgrades import Version
from nomad_stateful.operate.upgrade_database import server
from nomad_stateful.operate.upgrade_database.server import Absence, Server
from nomad_stateful.waiting import Context, Pending, Progress


def test_what_comes_before_the_watch_is_no_absence(monkeypatch: pytest.MonkeyPatch) -> None:
    after = Version((9, 7, 4))
    nomad: Any = SimpleNamespace(close=lambda: None)
    monkeypatch.setattr(server, "connect", lambda: nomad)
    monkeypatch.setattr(Server, "version", lambda _: after)
    absence = Absence(Server(SimpleNamespace(name="mysql"), nomad, nomad, "db", "default"), after)  # type: ignore[arg-type]
    absence._answered._began -= 1000
    with absence.watched():
        Progress(Context(), 10).wait(lambda: absence.back or Pending("it answers"), 0.01)
    assert absence.back
    assert absence.away_s < 100
