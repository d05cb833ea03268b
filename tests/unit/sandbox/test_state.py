"""The folder of Pulumi's state, and what a killed pulumi leaves in it."""

import os
import subprocess
from pathlib import Path

import pytest

from sandbox.settings import SandboxSettings, parse_settings
from sandbox.stack import environment, stack
from tools import toolchain

pytestmark = pytest.mark.engine


@pytest.fixture
def settings(tmp_path: Path) -> SandboxSettings:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/Pulumi.yaml").write_text("name: trial\nruntime: yaml\n")
    settings = parse_settings({}, tmp_path / "home")
    stack.prepare_backend(settings)
    return settings


def pulumi(
    settings: SandboxSettings, *words: str, backend: str = "", gzip: bool = False
) -> subprocess.CompletedProcess[str]:
    bin_dir = toolchain.ensure().bin_dir
    outer = {"PATH": os.defpath} | ({"PULUMI_DIY_BACKEND_GZIP": "1"} if gzip else {})
    env = environment.process_environment(settings, bin_dir, outer)
    return subprocess.run(
        [bin_dir / "pulumi", "--non-interactive", *words],
        cwd=settings.home.parent / "project",
        env={**env, **({"PULUMI_BACKEND_URL": backend} if backend else {})},
        capture_output=True,
        text=True,
        check=False,
    )


def sidecars(settings: SandboxSettings) -> list[Path]:
    return list(environment.state_dir(settings).rglob("*.attrs"))


def test_the_state_is_kept_without_files_that_a_kill_could_leave_empty(settings: SandboxSettings) -> None:
    made = pulumi(settings, "stack", "init", "dev")
    assert made.returncode == 0, made.stderr
    assert stack.stacks_in_state(settings) == [("trial", "dev")]
    assert sidecars(settings) == []


def test_a_state_that_a_kill_left_unreadable_is_read_again(settings: SandboxSettings) -> None:
    plain = f"file://{environment.state_dir(settings)}"
    assert pulumi(settings, "stack", "init", "dev", backend=plain).returncode == 0
    cut_off = next(path for path in sidecars(settings) if path.name == "dev.json.attrs")
    cut_off.write_text("")
    assert "failed to load checkpoint: EOF" in pulumi(settings, "stack", "select", "dev").stderr
    stack.prepare_backend(settings)
    again = pulumi(settings, "stack", "select", "dev")
    assert again.returncode == 0, again.stderr


def test_a_stack_is_the_same_whether_its_state_is_compressed_or_not(settings: SandboxSettings) -> None:
    assert pulumi(settings, "stack", "init", "dev").returncode == 0
    file = settings.home / "exported.json"
    for gzip, name in ((True, "dev.json.gz"), (False, "dev.json")):
        # It is written in the form that is asked for, and read in the one that there is.
        for words in (("stack", "export", "--file", str(file)), ("stack", "import", "--file", str(file))):
            done = pulumi(settings, *words, "--stack", "dev", gzip=gzip)
            assert done.returncode == 0, done.stderr
        folder = environment.state_dir(settings) / ".pulumi/stacks/trial"
        assert [path.name for path in folder.iterdir() if path.suffix in (".json", ".gz")] == [name]
        assert stack.stacks_in_state(settings) == [("trial", "dev")]
