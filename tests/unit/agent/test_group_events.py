"""Events of a server that is in no group, while its agent writes there what is of that server alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from pymysql.cursors import Cursor

from nomad_stateful.agent.membership.contents import Events, writable
from nomad_stateful.agent.server import ServerError

MODES = [
    "event_scheduler = OFF",
    "offline_mode = ON",
    "super_read_only = OFF",
    "super_read_only = ON",
    "event_scheduler = ON",
    "offline_mode = OFF",
]


@dataclass
class Server:
    """What it is told of its modes; a transaction keeps it from changing one."""

    enabled: int = 1
    """Events that its scheduler runs."""
    fails: str = ""
    modes: list[str] = field(default_factory=list)
    in_transaction: bool = False

    def execute(self, statement: str, _: Any = ()) -> None:
        words = " ".join(statement.split())
        self.in_transaction = "information_schema" in words or (self.in_transaction and words != "COMMIT")
        if mode := words.partition("SET GLOBAL ")[2]:
            assert not self.in_transaction
            if mode == self.fails:
                raise ServerError("2013 lost")
            self.modes.append(mode)

    def fetchone(self) -> tuple[int]:
        return (self.enabled,)


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    return tmp_path / "stopped-events"


def writes(server: Server, events: Events) -> list[str]:
    server.modes.clear()
    with writable(cast("Cursor", server), events):
        pass
    return server.modes


def test_none_runs_meanwhile(stopped: Path) -> None:
    assert writes(Server(), Events(stopped)) == MODES


def test_where_there_is_none_the_scheduler_stays_as_it_is(stopped: Path) -> None:
    assert writes(Server(enabled=0), Events(stopped)) == [mode for mode in MODES if "event" not in mode]


def test_they_run_again_after_a_session_that_stopped_them_has_failed(stopped: Path) -> None:
    """By the agent's next start, too."""
    server = Server(fails="super_read_only = ON")
    with pytest.raises(ServerError):
        writes(server, Events(stopped))
    assert server.modes == MODES[:3]
    # None is run where the scheduler stands.
    server.enabled, server.fails = 0, ""
    assert writes(server, Events(stopped)) == MODES
    assert writes(server, Events(stopped)) == [mode for mode in MODES if "event" not in mode]
