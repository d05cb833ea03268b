"""The page and its figures, out of the samples."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tools.bench import page, rows
from tools.bench.failover import results as failovers
from tools.bench.samples import Sample
from tools.drawing import Panel, Row, figure, nice_step, spread

SVG = "{http://www.w3.org/2000/svg}"
TEMPLATE = "before\n<!-- bench: cases -->\nold\n<!-- end -->\nafter\n"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    kept = [
        Sample("up", "floor", "answering", 1, 16, "ok"),
        Sample("up", "ours", "answering", 1, 17, "ok"),
        Sample("up", "ours", "answering", 2, 18, "ok"),
        Sample("destroy", "plain", "nothing left", 1, 33, "pulumi destroy failed: VolumeInUse"),
    ]
    rows.write(tmp_path / page.SAMPLES, Sample, kept, digits=3)
    (tmp_path / page.MACHINE).write_text(json.dumps({"date": "today"}))
    return tmp_path


def test_a_case_is_shown_with_medians_ratio_and_verdict(results: Path) -> None:
    (line,) = [line for line in page.rendered(TEMPLATE, results).splitlines() if "MySQL answering |" in line]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1:] == [
        "**16.00** (16.00 to 16.00)",
        "-",
        "**17.50** (17.00 to 18.00)",
        "1.09",
        "-",
        "≤ 1.10 of the floor",
        "met",
    ]


def test_what_only_failed_is_shown_as_failed(results: Path) -> None:
    (line,) = [line for line in page.rendered(TEMPLATE, results).splitlines() if "nothing left" in line]
    assert "failed 1 of 1" in line
    assert "33" not in line


def test_text_around_the_blocks_and_blocks_of_others_are_kept(results: Path) -> None:
    others = "<!-- bench: another -->\nkept\n<!-- end -->\n"
    once = page.rendered(TEMPLATE + others, results)
    assert once.startswith("before\n")
    assert once.endswith("after\n" + others)
    assert "old" not in once
    assert page.rendered(once, results) == once


def test_a_figure_is_a_document_with_a_dot_for_each_good_sample(results: Path) -> None:
    root = ET.fromstring(page.figures(results)["bench-cases.svg"])
    assert len(root.findall(f"{SVG}circle")) == 3
    assert "failed 1 of 1 times" in "".join(root.itertext())


def test_dots_and_medians_lie_where_the_axis_says() -> None:
    drawn = figure([Panel("<Up>", [Row("ours", [5.0, 10.0], 7.5)])])
    root = ET.fromstring(drawn)
    first, last = (float(dot.attrib["cx"]) for dot in root.findall(f"{SVG}circle"))
    zero = float(root.findall(f"{SVG}line")[0].attrib["x1"])
    assert last - zero == pytest.approx(2 * (first - zero), abs=0.2)
    bar = root.findall(f"{SVG}rect")[1]
    assert float(bar.attrib["x"]) + 1.5 == pytest.approx((first + last) / 2, abs=0.2)


def test_dots_that_would_hide_each_other_are_moved_apart() -> None:
    assert spread([1.0, 1.1, 1.05, 9.0], apart=0.5) == [0, 1, -1, 0]


@pytest.mark.parametrize(("most", "step"), [(27, 5), (4.3, 1), (1.5, 0.5), (0.6, 0.1), (120, 20)])
def test_ticks_are_round_numbers(most: float, step: float) -> None:
    assert nice_step(most) == pytest.approx(step)


def test_the_committed_page_says_what_the_committed_samples_say() -> None:
    assert not page.write(check=True)


def test_the_readme_has_the_failovers_of_the_committed_samples() -> None:
    readme = (page.PROJECT / "README.md").read_text(encoding="utf-8")
    (row,) = [line for line in readme.splitlines() if line.startswith("| a lost instance |")]
    measured = failovers.read(page.RESULTS)
    times = [failovers.of(measured, settings, "terminated")[0].acknowledged_s for settings in ("defaults", "deployed")]
    assert re.findall(r"\*\*(\d+) s\*\*", row) == [f"{seconds:.0f}" for seconds in times]
    assert sum(one.lost_rows for one in measured) == 0, "the row says that none was lost"
