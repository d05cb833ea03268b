"""The report on a change, made against the stack of the commit that the change starts from."""

import subprocess
from pathlib import Path

import pytest

from tools.trial.running import Running, traces


@pytest.fixture
def clone(tmp_path: Path) -> Running:
    """A repository of its own with the project as its one commit."""
    running = Running.prepare(tmp_path / "clone")
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-qm", "base"]):
        subprocess.run(["git", *words], cwd=running.project, check=True)
    return running


@pytest.mark.sandbox
@pytest.mark.engine
def test_a_change_that_drops_a_volume_is_red_and_nothing_of_the_comparison_stays(clone: Running) -> None:
    settings = clone.project / "Pulumi.dev.yaml"
    text = settings.read_text(encoding="utf-8")
    start, end = text.index("    - name: archive\n"), text.index("\n  # The MySQL server")
    settings.write_text(text[:start] + text[end:], encoding="utf-8")

    where = ("--name", clone.ground.name, "--subnet", str(clone.ground.subnet))
    command = (clone.python, "-m", "tools.preview_change", "--base", "main", *where)
    done = clone.run(*command, "--output", "report.md", timeout_s=900)

    assert (done.returncode, "error" in done.stderr) == (1, False), done.stderr
    report = (clone.project / "report.md").read_text(encoding="utf-8")
    assert "`ebs-archive-us-west-2b` would be deleted: an EBS volume and everything on it." in report
    assert "encryptionsalt" not in settings.read_text(encoding="utf-8")
    assert not any(traces(clone.ground.name, clone.project / ".sandbox").values())
