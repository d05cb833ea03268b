"""Random sequences of changes of the settings of a running stack, and back to the settings it began with."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tools.faults import checks
from tools.faults.cases.engine import cut_off
from tools.faults.lane import CLIENTS, Lane
from tools.faults.model import Fault, Run
from tools.faults.setting_changes import ELSEWHERE, made, sequence
from tools.faults.stack_settings import StackSettings
from tools.faults.writer import Served
from tools.trial.namespaces import allow

_LENGTHS: Final = (2, 2, 2, 3, 3, 4)
Update = Run
"""Brings the stack to the settings in its file; how, where that is worth a word."""


@dataclass
class _Sequence:
    """A stack under changes: what was done to it, and where its data is."""

    lane: Lane
    database: Served
    data: dict[str, str] = field(default_factory=dict)
    """The id of the data on each volume that the database was on."""
    volumes: dict[str, str] = field(default_factory=dict)
    """Ids of the EC2 volumes."""
    done: list[str] = field(default_factory=list)

    def update(self, text: str, settings: StackSettings, update: Callable[[], str]) -> None:
        """Writes the settings, has them brought about, and looks whether everything is as it should be."""
        before = StackSettings.read(self.lane.stack_file)
        self.done.append(text)
        settings.write(self.lane.stack_file)
        self.database.jobs = (before.job(), settings.job())
        if before.database["volume"] != settings.database["volume"]:
            self.lane.writer.leave()
        began = time.monotonic()
        how = update()
        self.rename({str(one["renamedFrom"]): str(one["name"]) for one in settings.volumes if "renamedFrom" in one})
        self.done[-1] += f" ({how}{', ' if how else ''}{time.monotonic() - began:.0f} s)"
        self.database.jobs = (settings.job(),)
        self.lane.await_writes()
        self.on(settings)
        self.hold()
        checks.await_jobs(self.lane, settings.jobs(len(CLIENTS)))

    def rename(self, names: Mapping[str, str]) -> None:
        """What is known of volumes is known of them by their new names."""
        self.data = {names.get(name, name): data for name, data in self.data.items()}
        self.volumes = {names.get(name, name): volume for name, volume in self.volumes.items()}

    def hold(self) -> None:
        """Every volume that was there before and is there now is the same one."""
        before, self.volumes = self.volumes, checks.volume_ids(self.lane)
        replaced = sorted(name for name in before.keys() & self.volumes.keys() if before[name] != self.volumes[name])
        assert not replaced, f"volumes replaced: {', '.join(replaced)}"

    def on(self, settings: StackSettings) -> None:
        """The database has the data of its volume, with every acknowledged row that is on it."""
        names, volume = {one["name"] for one in settings.volumes}, settings.database["volume"]
        self.data = {name: data for name, data in self.data.items() if name in names}
        found, title = self.lane.writer.moved(), self.lane.server.title
        others = [name for name, data in self.data.items() if data == found and name != volume]
        assert not others, f"on volume {volume} {title} has the data of {', '.join(others)}"
        assert self.data.setdefault(volume, found) == found, f"{title} lost the data of volume {volume}, and began anew"
        lost = sorted(self.lane.writer.lost())
        assert not lost, f"{len(lost)} acknowledged rows lost on volume {volume}: {lost[:10]}"


def _pulumi_up(lane: Lane) -> str:
    began = time.monotonic()
    done = lane.pulumi("up", "--yes", "--skip-preview")
    lane.typical_s["change"] = time.monotonic() - began
    assert done.returncode == 0, f"pulumi up failed: {done.stdout}{done.stderr}"
    return ""


def _killed_up(lane: Lane, draw: random.Random) -> str:
    """It is killed in the middle, and the same command again brings the stack there."""
    seen = cut_off(lane, draw, lane.up_words, "change", [])
    done = lane.up()
    assert done.returncode == 0, f"the same command again failed: {done.stdout}{done.stderr}"
    return seen


def _changed(update: Update) -> Run:
    def run(lane: Lane, draw: random.Random) -> str:
        allow(lane.stack, ELSEWHERE)
        begun = StackSettings.read(lane.stack_file)
        drawn = sequence(begun, draw, draw.choice(_LENGTHS))
        stack = _Sequence(lane, lane.database)
        stack.on(begun)
        stack.hold()
        at = begun
        try:
            for number, change, at in made(begun, drawn, lane.without):
                stack.update(f"{number}. {change.text}", at, lambda: update(lane, draw))
            problem = checks.not_converged(lane)
            assert not problem, problem
            back = begun.back_from(at)
            stack.update("back to the first settings", back, lambda: _pulumi_up(lane))
            begun.write(lane.stack_file)
        except Exception as error:
            raise AssertionError(f"{'; '.join(stack.done)}: {error}") from error
        return "; ".join(stack.done)

    return run


FAULTS = (
    Fault("settings changed", "changes", _changed(lambda lane, _draw: _pulumi_up(lane)), weight=3, seconds=90),
    Fault("settings changed, kill -9 of pulumi up", "changes", _changed(_killed_up), seconds=150),
)
