import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[4]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / ".venv").symlink_to(PROJECT / ".venv")
    return tmp_path


def commits(clone: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Runs the hook on a file as a commit would."""
    (clone / "module.py").write_text(text)
    subprocess.run(["git", "add", "module.py"], cwd=clone, check=True)
    hook = [str(PROJECT / "tools/hooks/pre-commit")]
    return subprocess.run(hook, cwd=clone, capture_output=True, text=True, check=False)


def test_the_hook_lets_clean_files_pass(clone: Path) -> None:
    assert commits(clone, "number: int = 1\n").returncode == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [("number=1\n", "make fix"), ("import os\n", "F401"), ('number: int = "1"\n', "Incompatible types")],
)
def test_the_hook_stops_what_check_would_refuse(clone: Path, text: str, said: str) -> None:
    done = commits(clone, text)
    assert done.returncode != 0
    assert said in done.stdout + done.stderr


def test_the_hook_has_nothing_to_say_about_what_is_no_python(clone: Path) -> None:
    (clone / "README.md").write_text("text")
    subprocess.run(["git", "add", "README.md"], cwd=clone, check=True)
    assert subprocess.run([str(PROJECT / "tools/hooks/pre-commit")], cwd=clone, check=False).returncode == 0
