"""The members of a group, whose servers write binary logs, each with the copier of them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from nomad_stateful.agent.copies.model import HeldError
from nomad_stateful.databases.mysql.archive import Until
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.operate.point_in_time.replay import Replay
from tests.unit.agent.world import START, FakeServer, World

GROUP = uuid.UUID("a1a1a1a1-0000-4000-8000-00000000000a")


def up_to(number: int) -> GtidSet:
    """The first so many transactions of the group."""
    return GtidSet.parse(f"{GROUP}:1-{number}")


@dataclass
class Group:
    """Members, of which the first in the dict that is no secondary commits; the others have it at once."""

    members: dict[str, World]
    now: datetime = START + timedelta(seconds=1)
    behind: tuple[str, ...] = ()
    """Members that do not get what is committed."""
    number: int = 0

    @property
    def primary(self) -> World:
        return next(one for one in self.members.values() if not one.server.is_secondary)

    def tick(self, seconds: float = 1) -> None:
        self.now += timedelta(seconds=seconds)
        for one in self.members.values():
            one.server.now = self.now

    def commit(self, count: int = 1) -> datetime:
        """Commits on the primary; returns the time of the last one."""
        for _ in range(count):
            self.number += 1
            self.tick()
            for name, one in self.members.items():
                if name not in self.behind:
                    one.server.take(self.number, self.now, replicated=one is not self.primary)
        return self.now

    def add_copy(self, new_server: Callable[..., FakeServer], count: int) -> None:
        """Adds m-4, which has so many transactions by a copy of another member's data, and none of them in a log."""
        server = new_server("m-4", executed=up_to(count), unlogged=up_to(count))
        self.members["m-4"] = World(server, self.primary.s3, "of-m-4", "m-4")

    def round(self, name: str) -> Until:
        self.tick()
        try:
            return self.members[name].round()
        finally:
            self.now = max(one.server.now for one in self.members.values())
            self.tick(0)

    def close(self, name: str) -> None:
        """A secondary's round."""
        with pytest.raises(HeldError, match=f"{name} is a secondary of its group"):
            self.round(name)

    def elect(self, name: str) -> None:
        for other, one in self.members.items():
            one.server.is_secondary = other != name

    def restored(self, base: datetime, to: datetime) -> Replay:
        return self.primary.restored(base, to)
