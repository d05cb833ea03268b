"""The folder of the Pulumi project that the sandbox deploys."""

import sys
from pathlib import Path

import pytest

from sandbox.commands import down
from sandbox.settings import load_settings, reading
from sandbox.stack import project, stack_file
from sandbox.stack.project import ProjectError

SALT = "v1:abc="
SECRET = "config:\n  nomad-stateful:mysql:\n    rootPassword:\n      secure: v1:x\n"
SECRETS = [SECRET, "config:\n  a:b:\n    - secure: v1:x\n", "secretsprovider: awskms://a\nencryptedkey: b\n"]


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    """A stack's file, beside Pulumi.yaml."""
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime:\n  name: python\n")
    path = tmp_path / "Pulumi.dev.yaml"
    path.write_text("config:\n  aws:region: us-west-2\n")
    return path


def test_its_name_is_that_of_pulumi_yaml(stack: Path, tmp_path: Path) -> None:
    assert stack_file.project_name(tmp_path) == "shop"
    assert stack_file.project_name(tmp_path / "nowhere") == ""


@pytest.mark.parametrize("name", ["Pulumi.yaml", "Pulumi.dev.yaml"])
def test_a_folder_without_the_stack_is_refused_with_how_to_have_one(stack: Path, name: str) -> None:
    stack.with_name(name).unlink()
    with pytest.raises(ProjectError, match=rf"{name} is not there.*nomad-stateful new.*--no-stack"):
        project.require(stack, "")


@pytest.mark.parametrize("secrets", SECRETS)
def test_secrets_of_another_stack_are_refused_and_its_salt_stays(
    stack: Path, secrets: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{secrets}encryptionsalt: {SALT}\n"
    stack.write_text(text)
    with pytest.raises(ProjectError, match=r"secrets of another stack.*--stack NAME"):
        project.require(stack, "v1:of-the-sandbox=")
    monkeypatch.setattr(down, "config_file", lambda _name: stack)
    down._forget_salt("dev", "v1:of-the-sandbox=")
    assert stack.read_text() == text


def test_secrets_of_the_sandbox_go_on_and_its_salt_goes_with_it(stack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack.write_text(f"{SECRET}encryptionsalt: {SALT}\n")
    project.require(stack, SALT)
    monkeypatch.setattr(down, "config_file", lambda _name: stack)
    down._forget_salt("dev", SALT)
    assert stack.read_text() == SECRET


def test_a_salt_without_secrets_is_replaced(stack: Path) -> None:
    stack.write_text(f"config: {{}}\nencryptionsalt: {SALT}\n")
    project.require(stack, "")


def test_a_project_without_an_environment_has_the_one_that_runs(tmp_path: Path) -> None:
    assert project.ensure_environment(tmp_path)
    assert (tmp_path / ".venv").resolve() == Path(sys.prefix).resolve()
    assert not project.ensure_environment(tmp_path)


def test_a_project_without_sandbox_toml_has_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = load_settings({})
    monkeypatch.setattr(reading, "PROJECT", tmp_path)
    settings = load_settings({})
    assert settings.home == tmp_path / ".sandbox"
    assert (settings.subnet, settings.instances) == (defaults.subnet, defaults.instances)
