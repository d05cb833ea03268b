"""A project of a person's own."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from nomad_stateful.operate.new import command as new
from nomad_stateful.program import settings
from nomad_stateful.version import VERSION
from tests.unit.operate.conftest import Operate
from tests.unit.program.test_short_files import repeated
from tools.toolchain import pins

TOP = Path(__file__).parents[3]


WHEEL = "https://example.test/nomad_stateful-1.2.3-py3-none-any.whl"


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty working directory; and where the package's record is, installed from a wheel."""
    monkeypatch.chdir(tmp_path)
    record = tmp_path_factory.mktemp("site") / "nomad_stateful-1.2.3.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: nomad-stateful\nVersion: 1.2.3\n")
    (record / "direct_url.json").write_text(json.dumps({"url": WHEEL, "archive_info": {}}))
    monkeypatch.syspath_prepend(record.parent)
    return record


def written(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_it_writes_what_pulumi_needs_into_a_new_folder(operate: Operate, tmp_path: Path) -> None:
    ended = operate("new", "shop", "--stack", "prod")
    assert (ended.status, ended.err) == (0, "")
    texts = written(tmp_path / "shop")
    assert sorted(texts) == [".gitignore", "Pulumi.prod.yaml", "Pulumi.yaml", "__main__.py", "requirements.txt"]
    assert yaml.safe_load(texts["Pulumi.yaml"])["name"] == "shop"
    assert texts["requirements.txt"] == f"nomad-stateful @ {WHEEL}\n"
    assert not any(re.search(r"@[A-Z]+@", text) for text in texts.values())


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (
            {"url": "https://example.test/own.git", "vcs_info": {"vcs": "git", "commit_id": "1f"}},
            " @ git+https://example.test/own.git@1f",
        ),
        ({"url": "file:///clone", "dir_info": {"editable": True}}, " @ file:///clone"),
    ],
)
def test_it_requires_what_runs(
    operate: Operate, tmp_path: Path, place: Path, origin: dict[str, Any], requirement: str
) -> None:
    (place / "direct_url.json").write_text(json.dumps(origin))
    assert operate("new", "shop").status == 0
    assert (tmp_path / "shop/requirements.txt").read_text() == f"nomad-stateful{requirement}\n"


def test_what_an_index_gave_is_required_with_a_warning_of_others_indexes(
    operate: Operate, tmp_path: Path, place: Path
) -> None:
    (place / "direct_url.json").unlink()
    ended = operate("new", "shop")
    assert ended.status == 0
    *comment, requirement = (tmp_path / "shop/requirements.txt").read_text().splitlines()
    assert requirement == "nomad-stateful==1.2.3"
    assert comment
    assert all(line.startswith("# ") for line in comment)
    said = "no release is on PyPI, where anyone may take the name."
    assert said in comment[0]
    assert f"warning: shop/requirements.txt has nomad-stateful==1.2.3: {said}" in ended.err


def test_in_a_clone_it_says_what_to_install_and_writes_nothing(
    operate: Operate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", [])
    ended = operate("new", "shop")
    assert ended.status == 1
    assert f"`pip install nomad_stateful-{VERSION}-py3-none-any.whl`" in ended.err
    assert written(tmp_path) == {}


@pytest.mark.parametrize("stack", ["acme/prod", "acme/shop/prod"])
def test_the_file_of_a_stack_has_the_last_part_of_its_name(operate: Operate, tmp_path: Path, stack: str) -> None:
    assert operate("new", "shop", "--ci", "--stack", stack).status == 0
    texts = written(tmp_path / "shop")
    assert "Pulumi.prod.yaml" in texts
    assert f"pulumi preview --stack {stack} --diff" in texts[".github/workflows/preview.yml"]


@pytest.mark.parametrize("stack", ["", "../../x", "../x", "/x", "acme/", "a b; rm -rf /", "dev\n", "é", "a" * 101])
def test_a_stack_that_pulumi_refuses_is_refused_and_nothing_is_written(
    operate: Operate, tmp_path: Path, stack: str
) -> None:
    ended = operate("new", "shop", "--stack", stack)
    assert ended.status == 2
    assert "is no name of a stack: letters, digits, _, . and -" in ended.err
    assert written(tmp_path) == {}


@pytest.mark.parametrize("folder", ["afile", "afile/below", "/proc/shop"])
def test_a_folder_that_cannot_be_written_is_named(operate: Operate, tmp_path: Path, folder: str) -> None:
    (tmp_path / "afile").write_text("mine")
    ended = operate("new", "shop", "--folder", folder)
    assert ended.status == 1
    assert ended.err.startswith(f"error: --folder is {folder}: it cannot be written (")
    assert written(tmp_path) == {"afile": "mine"}


def test_its_settings_are_accepted_and_none_repeats_its_default() -> None:
    config = yaml.safe_load(new.files("shop", "dev", "", workflow=False)["Pulumi.dev.yaml"])["config"]
    prefix = f"{settings.PROJECT}:"
    own: dict[str, Any] = {key.removeprefix(prefix): value for key, value in config.items() if prefix in key}
    assert settings.parse(own).database is not None
    assert repeated(own) == []


def test_the_readme_shows_the_same_settings() -> None:
    shown = (TOP / "README.md").read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    assert yaml.safe_load(shown) == yaml.safe_load(new.files("shop", "dev", "", workflow=False)["Pulumi.dev.yaml"])


def test_a_file_that_is_there_is_named_and_nothing_is_written(operate: Operate, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("mine")
    ended = operate("new", "shop", "--folder", ".")
    assert ended.status == 1
    assert "has Pulumi.yaml: nothing is overwritten" in ended.err
    assert written(tmp_path) == {"Pulumi.yaml": "mine"}


def test_the_workflow_has_the_projects_own_pins(operate: Operate, tmp_path: Path) -> None:
    assert operate("new", "shop", "--ci").status == 0
    text = written(tmp_path / "shop")[".github/workflows/preview.yml"]
    own = (TOP / ".github/workflows/preview.yml").read_text()
    steps = yaml.safe_load(text)["jobs"]["preview"]["steps"]
    assert [step["uses"] for step in steps if "uses" in step and step["uses"] not in own] == []
    archive = f"pulumi-v{pins.PULUMI.download_version}-linux-x64.tar.gz"
    assert archive in text
    assert pins.RELEASE_SUMS[archive] in text
