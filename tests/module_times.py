"""How long each test module takes: the order in which workers take them, and how long a run will still take."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest

RECORD: Final = Path(__file__).with_name("module_times.json")
"""Seconds by tier and module, as `make test-times` measured them: a first run on a machine has no times of its own."""

_CACHE: Final = "nomad-stateful/times-of"
_EVERY_S: Final = 30.0
_SHORT_S: Final = 1.0
_PACE_KNOWN: Final = 0.02
"""The share of the work from which on a run's pace is gone by."""


def module_of(nodeid: str) -> str:
    """Returns the file of a test, relative to the project."""
    return nodeid.partition("::")[0]


def known(config: pytest.Config) -> dict[str, float]:
    """Returns seconds by module: of this machine's last runs, else the recorded ones."""
    own: dict[str, float] = _kept(config, f"{_CACHE}/{tier(config)}")
    return _recorded()[tier(config)] | own


def tier(config: pytest.Config) -> str:
    """Returns which tests a run takes: those of every change, or those of a night."""
    return "nightly" if config.option.markexpr == "nightly" else "change"


def _recorded() -> dict[str, dict[str, float]]:
    recorded: dict[str, dict[str, float]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return recorded


def order(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sorts by module: what failed in the last run first, then the longest, so that no long one is left for the end."""
    times = known(config)
    failed = {module_of(nodeid) for nodeid in _kept(config, "cache/lastfailed")}

    def place(item: pytest.Item) -> tuple[bool, float, str]:
        module = module_of(item.nodeid)
        return module not in failed, -times.get(module, _SHORT_S), module

    items.sort(key=place)


class Progress:
    """Says each half minute what has run, and when the rest will have; names a failure at once; keeps the times."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.expected = known(config)
        self.left: dict[str, int] = {}
        self.took: defaultdict[str, float] = defaultdict(float)
        self.tests = self.failed = self.total = 0
        self.started = self.said = time.monotonic()

    def take(self, nodeids: Iterable[str]) -> None:
        """Takes the collected tests, once."""
        if not self.left:
            counts: defaultdict[str, int] = defaultdict(int)
            for nodeid in nodeids:
                counts[module_of(nodeid)] += 1
            self.left, self.total = dict(counts), sum(counts.values())

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self.take(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.take(item.nodeid for item in session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        module = module_of(report.nodeid)
        self.took[module] += report.duration
        if report.failed:
            self.failed += 1
            self.config.get_terminal_writer().line(f"\n{report.when} of {report.nodeid} failed")
        if report.when == "teardown":
            self.tests += 1
            self.left[module] = self.left.get(module, 1) - 1
        if time.monotonic() - self.said >= _EVERY_S:
            self.said = time.monotonic()
            self.config.get_terminal_writer().line(f"\n{self.sentence(time.monotonic() - self.started)}")

    def sentence(self, elapsed_s: float) -> str:
        """Returns how far the run is."""
        files = sum(count <= 0 for count in self.left.values())
        failed = f", {self.failed} failed" if self.failed else ""
        return (
            f"{_span(elapsed_s)}: {files} of {len(self.left)} files, {self.tests} of {self.total} tests{failed}; "
            f"about {_span(self.remaining(elapsed_s))} left"
        )

    def remaining(self, elapsed_s: float) -> float:
        """Returns an estimate in seconds: the work that is left by the known times, at this run's own pace.

        As long as little is done that pace is not known: the work counts as shared by the workers.
        """
        work = {module: self.expected.get(module, _SHORT_S) for module in self.left}
        total = sum(work.values())
        left = sum(max(seconds - self.took[module], 0) for module, seconds in work.items() if self.left[module] > 0)
        done = total - left
        if done <= total * _PACE_KNOWN:
            return left / (getattr(self.config.option, "numprocesses", None) or 1)
        return elapsed_s * left / done

    def pytest_sessionfinish(self) -> None:
        """Keeps the times of the modules that ran whole, here and, where that was asked for, in the record."""
        whole = {module: round(self.took[module], 1) for module, count in self.left.items() if count <= 0}
        cache: Any = getattr(self.config, "cache", None)
        if cache is not None and not self.config.option.collectonly:
            name = f"{_CACHE}/{tier(self.config)}"
            cache.set(name, _kept(self.config, name) | whole)
        if self.config.getoption("--record-times"):
            _record(tier(self.config), whole)


def _record(tier_name: str, whole: dict[str, float]) -> None:
    """Writes the times of a tier's modules, and forgets those of files that are gone."""
    recorded = _recorded()
    kept = recorded[tier_name] | whole
    recorded[tier_name] = {name: kept[name] for name in sorted(kept) if (RECORD.parents[1] / name).is_file()}
    RECORD.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")


def _kept(config: pytest.Config, name: str) -> dict[str, Any]:
    """Returns what pytest's cache has; nothing where that plugin is off."""
    cache: Any = getattr(config, "cache", None)
    return {} if cache is None else dict(cache.get(name, {}))


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
