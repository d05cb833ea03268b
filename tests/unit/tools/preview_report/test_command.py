"""The command line: what it reads, prints and exits with."""

import io
import json
from functools import partial
from pathlib import Path

import pytest

from nomad_stateful.nomad.job_rendering import render
from tools import toolchain
from tools.preview_report.__main__ import main
from tools.preview_report.document import parse
from tools.preview_report.jobs import difference, render_jobs

RECORDED = Path(__file__).with_name("recorded")


def run(name: str, *words: str) -> int:
    return main(["--preview", str(RECORDED / f"{name}.json"), "--jobs", str(RECORDED / f"{name}.jobs.json"), *words])


def test_green_exits_with_0_and_red_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("memory") == 0
    assert run("deletion") == 1
    assert run("deletion", "--labels", "x, allow-data-loss") == 0
    assert capsys.readouterr().out.count("<!-- nomad-stateful-preview -->") == 3


def test_no_report_exits_with_2_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    assert main(["--preview", str(empty)]) == 2
    assert main(["--preview", str(tmp_path / "missing")]) == 2
    errors = capsys.readouterr().err
    assert "error: no report: the preview is not JSON" in errors
    assert "missing" in errors


def test_it_reads_stdin_and_writes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO((RECORDED / "tag.json").read_text(encoding="utf-8")))
    output = tmp_path / "report.md"
    assert main(["--preview", "-", "--jobs", str(RECORDED / "tag.jobs.json"), "--output", str(output)]) == 0
    assert output.read_text(encoding="utf-8") == (RECORDED / "tag.md").read_text(encoding="utf-8")


def test_policies_come_from_the_event_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("policy", "--events", str(RECORDED / "policy.events")) == 1
    assert "small-pack/volume-must" in capsys.readouterr().out


@pytest.mark.nomad
def test_nomad_itself_renders_the_recorded_jobs() -> None:
    found = toolchain.find()
    if found is None:
        pytest.skip("needs the toolchain: python -m tools.toolchain")
    preview = parse((RECORDED / "memory.json").read_text(encoding="utf-8"))
    (job,) = render_jobs(preview, partial(render, found.nomad))
    changed = [line.strip("+- ") for line in difference(job) if line.startswith(("+ ", "- "))]
    assert changed == ['"MemoryMB": 512', '"MemoryMB": 640']
    assert json.dumps(job.after) is not None
