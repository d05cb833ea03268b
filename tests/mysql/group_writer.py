"""A client of a replication group, which goes by what the agents answer."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass, field

import pymysql

from tests.mysql.group import Group


@dataclass
class Writer:
    """Commits a row at a time on whoever says that it is the primary, and samples how many say so at once."""

    group: Group
    acknowledged: list[int] = field(default_factory=list)
    at_once: list[list[str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Writer:
        [primary] = self.group.until(self.group.primaries)
        primary.query("CREATE DATABASE IF NOT EXISTS shop", "CREATE TABLE IF NOT EXISTS shop.t (i BIGINT PRIMARY KEY)")
        self._threads = [threading.Thread(target=one) for one in (self._write, self._sample)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(60)

    def _sample(self) -> None:
        while not self._ended.wait(0.1):
            if len(found := self.group.primaries()) > 1:
                self.at_once.append([one.name for one in found])

    def _write(self) -> None:
        number = 0
        while not self._ended.wait(0.02):
            for primary in self.group.primaries():
                with contextlib.suppress(pymysql.err.MySQLError):
                    while not self._ended.wait(0.01):
                        number += 1
                        primary.query(f"INSERT INTO shop.t VALUES ({number})", within_s=3)
                        self.acknowledged.append(number)
                        self.times.append(time.monotonic())

    def goes_on(self, within_s: float = 90) -> None:
        """Returns once rows are acknowledged again."""
        before = len(self.acknowledged)
        self.group.until(lambda: len(self.acknowledged) > before + 5, within_s)

    @property
    def pause_s(self) -> float:
        return max((later - earlier for earlier, later in zip(self.times, self.times[1:], strict=False)), default=0.0)
