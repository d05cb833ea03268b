"""The program with nothing in it: what is measured of it, and what it needs of the cluster."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tools.bench.contender import Failed
from tools.bench.passes import Passes
from tools.bench.pulumi import Engine
from tools.bench.recorder import Recorder

RIG = cast("Any", SimpleNamespace(running=SimpleNamespace(project=Path("/none"))))


class Scripted(Engine):
    """Runs nothing; notes what it was told to run."""

    def __init__(self, failing: str = "") -> None:
        super().__init__(RIG)
        self.ran: list[str] = []
        self._failing = failing

    def run(self, *words: str, timeout_s: float) -> str:
        self.ran.append(" ".join(words))
        if words[0] == self._failing:
            raise Failed(f"{words[0]} failed")
        return ""


def test_the_engine_takes_part_in_what_needs_no_resource(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "samples.csv")
    Passes(RIG, recorder).run(Scripted(), 1)
    measured = [(one.case, one.contender, one.measure, one.outcome) for one in recorder.samples]
    assert measured == [
        ("preview of everything", "engine", "command", "ok"),
        ("preview", "engine", "command", "ok"),
        ("up without a change", "engine", "command", "ok"),
        ("destroy", "engine", "nothing left", "ok"),
    ]


def test_an_up_without_a_change_is_measured_on_a_stack_that_is_up(tmp_path: Path) -> None:
    engine = Scripted()
    Passes(RIG, Recorder(tmp_path / "samples.csv")).run(engine, 1)
    assert [line.split()[0] for line in engine.ran] == ["preview", "up", "preview", "up", "destroy"]


def test_a_stack_that_cannot_be_destroyed_is_made_anew(tmp_path: Path) -> None:
    engine = Scripted(failing="destroy")
    Passes(RIG, Recorder(tmp_path / "samples.csv")).run(engine, 1)
    assert [line.rpartition(" --")[0] or line for line in engine.ran[-2:]] == [
        "stack rm --yes --force",
        "stack select",
    ]
