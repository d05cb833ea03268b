"""Comparing a change with its base: what is refused before anything is started."""

import pytest

from tools.preview_change import main


def test_a_base_that_is_not_there_is_refused_with_the_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base", "no-such-branch"]) == 2
    said = capsys.readouterr().err
    assert "base is no-such-branch: no such branch here" in said
    assert "make preview-report BASE=" in said
