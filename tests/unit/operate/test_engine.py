"""What a preview has to change, as commands ask for it."""

import json
from subprocess import CompletedProcess
from typing import Any

import pytest

from nomad_stateful.operate.engine import Engine

PROVIDER = {"op": "update", "urn": "urn:pulumi:prod::p::pulumi:providers:nomad-csi::nomad-csi"}
JOB = {"op": "update", "urn": "urn:pulumi:prod::p::nomad:index/job:Job::mysql-job"}
POLICY = {"op": "update", "urn": "urn:pulumi:prod::p::aws:iam/policy:Policy::driver-policy"}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Engine:
    """One whose stack has a file; what its previews say, a test gives."""
    (tmp_path / "Pulumi.prod.yaml").write_text("config: {}\n", encoding="utf-8")
    monkeypatch.setattr("nomad_stateful.operate.project.file", lambda: tmp_path / "Pulumi.yaml")
    return Engine("prod")


def preview(steps: list[Any]) -> str:
    return json.dumps({"steps": [one | {"newState": {"type": one["urn"].split("::")[2]}} for one in steps]})


@pytest.mark.parametrize(("steps", "pending"), [([PROVIDER], False), ([PROVIDER, JOB], True)])
def test_a_token_that_is_issued_anew_is_no_change_of_the_stack(
    steps: list[Any], pending: bool, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = CompletedProcess([], 255, "", "error: no changes were expected but changes were proposed")
    monkeypatch.setattr(engine, "_run", lambda *_: failed)
    monkeypatch.setattr(engine, "_call", lambda *_: preview(steps))
    assert bool(engine.pending()) is pending


def test_two_previews_of_the_same_have_the_same_changes_in_whatever_order_the_engine_has_them(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    previews = iter([preview([JOB, POLICY]), preview([POLICY, JOB])])
    monkeypatch.setattr(engine, "_call", lambda *words: next(previews) if words[0] == "preview" else "")
    first, second = engine.changes({}), engine.changes({})
    assert [one.name for one in first] == ["driver-policy", "mysql-job"]
    assert first == second
