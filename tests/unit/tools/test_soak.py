"""A soak's verdict over series, and the roles that it has them by."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from tools.soak import report
from tools.soak.__main__ import told
from tools.soak.actions import life
from tools.soak.month import Month
from tools.soak.roles import OTHER, below, role_of
from tools.soak.sampler import Sampler
from tools.soak.verdict import Bounds, Judged, Point, judged

LENGTH_S = 3600.0
PERIOD_S = 15.0


def verdict(of: Callable[[float], float], pids: Callable[[float], tuple[int, ...]] = lambda _at: ()) -> Judged:
    """The verdict of a series with noise, by seconds; a slack of 20."""
    noise = random.Random(1)
    times = [number * PERIOD_S for number in range(int(LENGTH_S / PERIOD_S))]
    points = [Point(at, of(at) + noise.uniform(-3, 3), pids(at)) for at in times]
    return judged("memory/x", points, LENGTH_S, Bounds(20.0))


def test_a_series_that_grows_is_found() -> None:
    found = verdict(lambda at: 100 + at / LENGTH_S * 80)
    assert (found.word, found.wrong) == ("grows", True)
    assert found.growth == pytest.approx(40, abs=3)


def test_growth_is_found_after_a_beginning_that_took_more() -> None:
    assert verdict(lambda at: 1000 - at if at < 850 else 150 + (at - 850) / LENGTH_S * 46).wrong


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(lambda _at: 100, id="a constant"),
        pytest.param(lambda at: 100 + at % 400 / 4, id="a sawtooth, as of what is collected"),
        pytest.param(lambda at: 100 + 200 * (1 - math.exp(-at / 200)), id="a plateau after a warm-up"),
        pytest.param(lambda at: 100 + (900 if 2000 < at < 2100 else 0), id="a peak"),
        pytest.param(
            lambda at: 100 + (50 if at > 2900 else 0), id="a step near the end, which a longer soak tells more of"
        ),
        pytest.param(lambda at: 100 + (15 if at > 1800 else 0), id="a step within the slack"),
        pytest.param(lambda at: 300 - at / LENGTH_S * 80, id="one that shrinks"),
        pytest.param(lambda at: 100 + at / LENGTH_S * 30, id="growth within the slack"),
    ],
)
def test_what_does_not_grow_is_level(of: Callable[[float], float]) -> None:
    assert verdict(of).word == "level"


def test_a_restart_does_not_hide_that_each_process_grows() -> None:
    life_s = 900.0
    found = verdict(lambda at: 100 + at % life_s / 10, lambda at: (int(at // life_s),))
    assert found.wrong
    assert found.growth == pytest.approx(180, abs=20)
    # The same samples of one process are what is collected now and then.
    assert verdict(lambda at: 100 + at % life_s / 10).word == "level"


def test_a_process_that_takes_what_it_will_keep_after_each_restart_does_not_grow() -> None:
    life_s = 900.0
    assert verdict(lambda at: 100 + min(at % life_s, 250.0), lambda at: (int(at // life_s),)).word == "level"


def test_what_has_a_retention_stays_at_or_below_it() -> None:
    points = [Point(at, min(at, 7.0)) for at in range(30)]
    assert judged("count/x", points, 30, Bounds(1.0, keep=7)).word == "level"
    found = judged("count/x", [*points, Point(30, 8.0)], 30, Bounds(1.0, keep=7))
    assert (found.word, found.wrong, found.note) == ("over its keep", True, "8 at most, keep 7")


def test_growth_by_design_is_said_and_is_not_wrong() -> None:
    points = [Point(at, float(at)) for at in range(100)]
    found = judged("MiB/x", points, 100, Bounds(1.0, design="nobody rotates it"))
    assert (found.word, found.wrong, found.note) == ("by design", False, "nobody rotates it")


def test_too_few_samples_are_no_verdict() -> None:
    assert judged("memory/x", [Point(10, 1), Point(80, 900), Point(90, 900)], 100, Bounds(1.0)).word == "few samples"


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("/c/bin/nomad agent -config=/h/.sandbox/nomad/server.json", "Nomad server"),
        ("/c/bin/nomad agent -config=/mnt/etc/nomad.hcl", "Nomad clients"),
        ("/c/bin/nomad logmon", "Nomad logmon"),
        ("/usr/sbin/dockerd --config-file=/mnt/etc/docker.json", "dockerd"),
        ("containerd --config /run/docker/containerd/containerd.toml", "containerd"),
        ("/usr/bin/containerd-shim-runc-v2 -namespace moby -id 1", "containerd-shim"),
        ("mysqld --datadir=/srv/mysql --port=3306", "MySQL"),
        ("python3 -m sandbox.standins.ebs_csi_driver node --endpoint=unix:///csi/csi.sock", "EBS node plugins"),
        ("/bin/aws-ebs-csi-driver controller --endpoint=unix:///csi/csi.sock", "EBS controllers"),
        ("/h/.venv/bin/python -m sandbox.cloud", "stand-in for AWS"),
        ("/h/.venv/bin/python -m sandbox ctl enter client-1 ls", "commands"),
        ("/h/.venv/bin/python -P -m nomad_stateful.provider 127.0.0.1:1", "plugin nomad-csi"),
        ("/h/.venv/bin/python -m sandbox.standins.plugins.aws 127.0.0.1:1", "plugin aws"),
        ("pulumi up --yes", "Pulumi"),
        ("/h/.venv/bin/python -m sandbox up", "commands"),
        ("sleep 5", OTHER),
    ],
)
def test_a_process_has_the_role_of_its_command_line(line: str, role: str) -> None:
    assert role_of([*line.split(), ""]) == role


def test_the_processes_of_a_sandbox_are_those_below_its_own() -> None:
    assert below([10, 20], {10: 1, 11: 10, 12: 11, 20: 10, 30: 1, 31: 30}) == {10, 11, 12, 20}


def test_a_table_has_what_is_wrong_first_and_the_curves_have_every_series() -> None:
    series = {
        "memory/MySQL": [Point(at, 100.0) for at in range(100)],
        "files/dockerd": [Point(at, float(at)) for at in range(100)],
        "count/dumps on the volume": [Point(at, at / 10) for at in range(100)],
    }
    found = report.verdicts(series, 100, {"count/dumps on the volume": 7})
    rows = [row.split(" | ") for row in report.table(found).splitlines()[2:]]
    assert [(row[0].removeprefix("| "), row[-1].removesuffix(" |")) for row in rows] == [
        ("count/dumps on the volume", "over its keep: 9.9 at most, keep 7"),
        ("files/dockerd", "grows"),
        ("memory/MySQL", "level"),
    ]
    drawing = report.curves(series, found, 100, "a & b")
    assert drawing.count("<polyline") == len(series)
    assert "a &amp; b" in drawing


def test_a_retention_that_nothing_was_seen_of_is_wrong() -> None:
    [found] = report.verdicts({}, 100, {"count/dumps on the volume": 7})
    assert (found.word, found.wrong) == ("not seen", True)


class Source:
    """What a sampler asks: it is there half of the time, or less."""

    def __init__(self, lost: int) -> None:
        self.lost, self.__name__ = lost, f"_lost_{lost}"

    def __call__(self) -> dict[str, float]:
        if self.lost:
            self.lost -= 1
            raise ConnectionError("away")
        return {"count/x": 1.0}


def test_what_cannot_be_read_for_a_moment_is_read_later_and_what_never_can_is_named(tmp_path: Path) -> None:
    sampler = Sampler(cast("Any", None), tmp_path / "samples.jsonl", "now", 1)
    sources = Source(2), Source(3)
    for _ in range(4):
        sampler.look(*sources)
    assert [one.value for one in sampler.series["count/x"]] == [1.0, 1.0]
    assert sampler.unread() == ["lost_3 could not be read: ConnectionError: away"]
    assert len((tmp_path / "samples.jsonl").read_text().splitlines()) == 4


@pytest.mark.parametrize(
    ("slope", "problems", "interrupted", "status"),
    [(0, [], False, 0), (1, [], False, 1), (0, ["a row is lost"], False, 1), (0, [], True, 1)],
)
def test_the_status_says_whether_all_held_to_the_end(
    slope: float, problems: list[str], interrupted: bool, status: int, tmp_path: Path
) -> None:
    month = Month(100, 1, {}, tmp_path / "samples.jsonl", "now", print)
    month.sampler = sampler = Sampler(cast("Any", None), month.file, "now", 1)
    kept = [f"count/{name}" for name in ("scheduled snapshots of a volume", "dumps on the volume", "S3 objects")]
    sampler.series = {name: [Point(50, 0.0)] for name in kept}
    sampler.series["memory/MySQL"] = [Point(at, 100 + slope * at) for at in range(101)]
    if interrupted:
        month.stop.set()
    assert told(month, problems, tmp_path) == status
    assert "memory/MySQL" in (tmp_path / "table.md").read_text()


def test_no_action_of_a_stacks_life_takes_the_stack_away() -> None:
    assert {(one.needs, one.leaves) for one in life().values()} == {("deployed", "deployed")}
    assert {"instance refresh", "driver upgrade, and back", "drill", "pulumi up --refresh"} <= life().keys()
