"""Medians, ratios and verdicts, and the file that the samples are kept in."""

from pathlib import Path

import pytest

from tools.bench import rows
from tools.bench.samples import Sample, Summary, ratio, summary
from tools.bench.targets import Case


def timed(contender: str, *seconds: float, case: str = "up", outcome: str = "ok") -> list[Sample]:
    return [Sample(case, contender, "answering", number, one, outcome) for number, one in enumerate(seconds, 1)]


def test_a_summary_has_median_least_and_most() -> None:
    assert summary(timed("ours", 3, 1, 10)) == Summary(3, 0, 3, 1, 10)
    assert summary(timed("ours", 1, 2)).median == 1.5


def test_a_failed_sample_counts_as_failed_and_not_as_fast() -> None:
    mixed = timed("plain", 20, 22) + timed("plain", 1, outcome="VolumeInUse")
    assert summary(mixed) == Summary(2, 1, 21, 20, 22)
    assert summary(timed("plain", 1, outcome="VolumeInUse")) == Summary(0, 1, None, None, None)


def test_a_ratio_is_of_medians_and_unknown_without_a_good_sample() -> None:
    assert ratio(timed("ours", 11, 11, 90), timed("floor", 10)) == pytest.approx(1.1)
    assert ratio(timed("ours", 1), timed("floor", 1, outcome="no")) is None
    assert ratio([], timed("floor", 1)) is None


def test_samples_come_back_from_their_file(tmp_path: Path) -> None:
    kept = timed("ours", 1.25) + timed("plain", 30, outcome='failed: "a", b | c')
    rows.write(tmp_path / "samples.csv", Sample, kept, digits=3)
    assert rows.read(tmp_path / "samples.csv", Sample) == kept
    assert rows.read(tmp_path / "none.csv", Sample) == []


@pytest.mark.parametrize(("ours", "verdict"), [(11.0, "met"), (11.1, "missed"), (None, "not measured")])
def test_a_ratio_to_the_floor_is_judged_by_its_target(ours: float | None, verdict: str) -> None:
    case = Case("Up", "up", "answering", most_ratio=1.1)
    known = timed("floor", 10) + ([] if ours is None else timed("ours", ours))
    assert case.verdict(known) == verdict


@pytest.mark.parametrize(("ours", "verdict"), [(10.0, "met"), (10.1, "missed")])
def test_a_target_may_be_a_ratio_to_the_plain_program(ours: float, verdict: str) -> None:
    case = Case("Preview", "up", "answering", most_ratio=1.0, over="plain")
    assert case.target == "≤ 1.00 of plain"
    assert case.verdict(timed("plain", 10) + timed("floor", 1) + timed("ours", ours)) == verdict


@pytest.mark.parametrize(("ours", "verdict"), [(1.5, "met"), (1.6, "missed")])
def test_seconds_are_judged_without_a_floor(ours: float, verdict: str) -> None:
    assert Case("Preview", "up", "answering", most_seconds=1.5).verdict(timed("ours", ours)) == verdict


def test_a_case_without_a_target_has_no_verdict() -> None:
    assert not Case("Setting", "up", "answering").verdict(timed("ours", 1))
