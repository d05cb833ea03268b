"""Comparing a change with its base: what is refused before anything is started."""

import pytest

from tools import preview_change
from tools.preview_change import main


def test_a_base_that_is_not_there_is_refused_with_the_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base", "no-such-branch"]) == 2
    said = capsys.readouterr().err
    assert "base is no-such-branch: no such branch here" in said
    assert "make preview-report BASE=" in said


def test_the_program_is_not_led_to_a_real_account_or_another_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "NOMAD_TOKEN", "PULUMI_STACK", "NOMAD_STATEFUL_SANDBOX_HOME", "AWS_CA_BUNDLE"):
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("NOMAD_STATEFUL_TOOLCHAIN", "build")
    environment = preview_change._clean()
    assert "elsewhere" not in environment.values()
    assert environment["NOMAD_STATEFUL_TOOLCHAIN"] == "build"
