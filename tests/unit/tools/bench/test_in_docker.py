"""The bench in containers: what of a pass is run there, and its table."""

from pathlib import Path

import pytest

from tools.bench import course, page, passes, samples, tables
from tools.bench.contender import Contender
from tools.bench.passes import BriefPasses
from tools.bench.recorder import Recorder
from tools.bench.rig import Rig
from tools.bench.samples import Sample

KEPT = [
    Sample("up", "floor", "answering", 1, 20, "ok"),
    Sample("up", "ours", "answering", 1, 24, "ok"),
    Sample("preview", "ours", "command", 1, 3, "ok"),
    Sample("destroy", "ours", "nothing left", 1, 9, "pulumi destroy failed: VolumeInUse"),
]


def test_the_table_has_who_took_part_and_ours_over_the_floor() -> None:
    header, _, *lines = tables.docker(KEPT).splitlines()
    assert header == "| seconds: median (least to most) | floor | ours | ours / floor |"
    up, destroy, preview = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    assert up[1:] == ["**20.00** (20.00 to 20.00)", "**24.00** (24.00 to 24.00)", "1.20"]
    assert destroy[1:] == ["-", "failed 1 of 1", "-"]
    assert preview[1:] == ["-", "**3.00** (3.00 to 3.00)", "-"]


def test_the_page_says_so_until_it_is_measured(tmp_path: Path) -> None:
    (tmp_path / page.MACHINE).write_text("{}")
    template = "<!-- bench: docker -->\n<!-- end -->\n"
    assert tables.NOT_YET in page.rendered(template, tmp_path)
    samples.write(tmp_path / page.DOCKER, KEPT)
    assert tables.docker(KEPT) in page.rendered(template, tmp_path)


class Fake:
    """Notes what is asked of it."""

    name = "floor"

    def __init__(self) -> None:
        self.did: list[str] = []

    def up(self) -> None:
        self.did.append("up")

    def change(self, memory_mib: int) -> None:
        self.did.append(f"change {memory_mib}")

    def destroy(self) -> None:
        self.did.append("destroy")

    def forget(self) -> None:
        self.did.append("forget")


class FakeRig:
    """A sandbox in which MySQL answers at once and nothing is ever left."""

    nomad = None
    mysql_addresses = ()

    def password(self) -> str:
        return ""

    def sweep(self) -> None:
        """Nothing is there."""

    forget_plugin = sweep

    def left(self) -> list[str]:
        return []


class Watched:
    """A watch that has seen what it waits for."""

    seen_at = 1.0
    healthy_at = seen_at

    def __init__(self, *_: object) -> None:
        pass

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def seconds(self, _timeout_s: float) -> float:
        return 12.5


def test_a_brief_pass_changes_no_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "Watch", Watched)
    monkeypatch.setattr(passes, "HealthWatch", Watched)
    monkeypatch.setattr(course, "marks", lambda *_: [])
    rig: Rig = FakeRig()  # type: ignore[assignment]
    recorder, contender = Recorder(tmp_path / page.DOCKER), Fake()
    taking_part: Contender = contender
    BriefPasses(rig, recorder).run(taking_part, 1)
    assert contender.did == ["up", "destroy"]
    assert [(one.case, one.measure) for one in recorder.samples] == [
        ("up", "command"),
        ("up", "answering"),
        ("destroy", "nothing left"),
    ]
