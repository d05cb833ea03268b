"""Whatever fails while it is timed is kept as failed, and the next thing is timed."""

from pathlib import Path

from tools.bench import rows
from tools.bench.recorder import Recorder
from tools.bench.samples import Sample


def refuse() -> None:
    raise ValueError("VolumeInUse\n  vol-1")


def test_a_failure_is_kept_with_its_reason_and_the_next_thing_is_timed(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "samples.csv")
    assert not recorder.time("destroy", "plain", "command", 1, refuse)
    assert recorder.time("destroy", "ours", "command", 1, lambda: None)
    kept = [(one.contender, one.outcome) for one in rows.read(tmp_path / "samples.csv", Sample)]
    assert kept == [("plain", "VolumeInUse vol-1"), ("ours", "ok")]


def test_an_answer_that_never_comes_fails_beside_a_command_that_ended_well(tmp_path: Path) -> None:
    def never() -> float:
        raise TimeoutError("MySQL does not answer")

    recorder = Recorder(tmp_path / "samples.csv")
    assert not recorder.answered("up", "ours", 1, lambda: None, never)
    assert [(one.measure, one.outcome) for one in recorder.samples] == [
        ("command", "ok"),
        ("answering", "MySQL does not answer"),
    ]


def test_after_a_command_that_failed_no_answer_is_waited_for(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "samples.csv")
    assert not recorder.answered("up", "ours", 1, refuse, lambda: 1.0)
    assert [one.outcome for one in recorder.samples] == ["VolumeInUse vol-1", "the command failed"]
