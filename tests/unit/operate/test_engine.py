"""What a preview has to change, as commands ask for it."""

import json
from subprocess import CompletedProcess
from typing import Any

import pytest

from nomad_stateful.operate.engine import Engine

PROVIDER = {"op": "update", "urn": "urn:pulumi:prod::p::pulumi:providers:nomad-csi::nomad-csi"}
JOB = {"op": "update", "urn": "urn:pulumi:prod::p::nomad:index/job:Job::mysql-job"}


@pytest.mark.parametrize(("steps", "pending"), [([PROVIDER], False), ([PROVIDER, JOB], True)])
def test_a_token_that_is_issued_anew_is_no_change_of_the_stack(
    steps: list[Any], pending: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    said = [one | {"newState": {"type": one["urn"].split("::")[2]}} for one in steps]
    failed = CompletedProcess([], 255, "", "error: no changes were expected but changes were proposed")
    (tmp_path / "Pulumi.prod.yaml").write_text("config: {}\n", encoding="utf-8")
    engine = Engine("prod")
    monkeypatch.setattr(engine, "_run", lambda *_: failed)
    monkeypatch.setattr(engine, "_call", lambda *_: json.dumps({"steps": said}))
    monkeypatch.setattr("nomad_stateful.operate.stack.project_dir", lambda: tmp_path)
    assert bool(engine.pending()) is pending
