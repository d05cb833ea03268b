"""A project of a person's own."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from nomad_stateful.operate import __main__ as command_line
from nomad_stateful.operate.new import command as new
from nomad_stateful.program import settings
from tests.unit.program.test_short_files import repeated
from tools.toolchain import pins

TOP = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(new, "package", lambda: "nomad-stateful==1.2.3")


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["nomad-stateful", "new", *words])
    return command_line.main()


def written(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_it_writes_what_pulumi_needs_into_a_new_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert called(monkeypatch, "shop", "--stack", "prod") == 0
    texts = written(tmp_path / "shop")
    assert sorted(texts) == [".gitignore", "Pulumi.prod.yaml", "Pulumi.yaml", "__main__.py", "requirements.txt"]
    assert yaml.safe_load(texts["Pulumi.yaml"])["name"] == "shop"
    assert texts["requirements.txt"] == "nomad-stateful==1.2.3\n"
    assert not any("@" in text for text in texts.values())


def test_its_settings_are_accepted_and_none_repeats_its_default() -> None:
    config = yaml.safe_load(new.files("shop", "dev", "", workflow=False)["Pulumi.dev.yaml"])["config"]
    prefix = f"{settings.PROJECT}:"
    own: dict[str, Any] = {key.removeprefix(prefix): value for key, value in config.items() if prefix in key}
    assert settings.parse(own).database is not None
    assert repeated(own) == []


def test_the_readme_shows_the_same_settings() -> None:
    shown = (TOP / "README.md").read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    assert yaml.safe_load(shown) == yaml.safe_load(new.files("shop", "dev", "", workflow=False)["Pulumi.dev.yaml"])


def test_a_file_that_is_there_is_named_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Pulumi.yaml").write_text("mine")
    assert called(monkeypatch, "shop", "--folder", ".") == 1
    assert "has Pulumi.yaml: nothing is overwritten" in capsys.readouterr().err
    assert written(tmp_path) == {"Pulumi.yaml": "mine"}


def test_the_workflow_has_the_projects_own_pins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert called(monkeypatch, "shop", "--ci") == 0
    text = written(tmp_path / "shop")[".github/workflows/preview.yml"]
    own = (TOP / ".github/workflows/preview.yml").read_text()
    steps = yaml.safe_load(text)["jobs"]["preview"]["steps"]
    assert [step["uses"] for step in steps if "uses" in step and step["uses"] not in own] == []
    archive = f"pulumi-v{pins.PULUMI.download_version}-linux-x64.tar.gz"
    assert archive in text
    assert pins.RELEASE_SUMS[archive] in text
