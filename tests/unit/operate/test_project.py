"""Which Pulumi project a command works in, and which files are its."""

from pathlib import Path

import pytest

from nomad_stateful.operate import project, stack
from nomad_stateful.operate.errors import OperateError

TOP = Path(__file__).parents[3]


@pytest.fixture
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, in a folder that may become a project."""
    found = tmp_path / "shop" / "sub"
    found.mkdir(parents=True)
    monkeypatch.chdir(found)
    monkeypatch.setattr(stack._Chosen, "name", "")
    return found


@pytest.mark.parametrize("name", ["Pulumi.yaml", "Pulumi.yml", "Pulumi.json"])
def test_it_is_the_nearest_one_above_with_settings_beside_it(
    below: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (below.parent / name).write_text('{"name": "shop"}', encoding="utf-8")
    (below.parents[1] / "Pulumi.yaml").write_text("name: other", encoding="utf-8")
    assert project.folder() == below.parent
    assert project.name() == "shop"
    assert project.settings_file("acme/prod") == below.parent / f"Pulumi.prod{Path(name).suffix}"
    stack.choose("prod", "nomad-stateful verify", acts=True)
    assert capsys.readouterr().err == "stack prod\n"


def test_settings_may_be_in_a_folder_of_their_own(below: Path) -> None:
    (below / "Pulumi.yaml").write_text("name: shop\nstackConfigDir: stacks\n", encoding="utf-8")
    assert project.settings_file("prod") == below / "stacks" / "Pulumi.prod.yaml"


def test_that_of_the_clone_is_named_where_there_is_none_above(below: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert project.folder() == TOP
    stack.choose("prod", "nomad-stateful verify", acts=True)
    assert capsys.readouterr().err == (
        f"project {TOP}: {below} has no Pulumi.yaml, and no folder above it\nstack prod\n"
    )


def test_a_wheels_command_outside_of_a_project_says_where_to_run_it(
    below: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project, "__file__", str(below / "site-packages/nomad_stateful/operate/project.py"))
    with pytest.raises(OperateError, match=r"has no Pulumi\.yaml, .*: run this in the folder of the Pulumi"):
        project.folder()


def test_a_project_without_a_name_is_refused(below: Path) -> None:
    (below / "Pulumi.yaml").touch()
    with pytest.raises(OperateError, match=r"Pulumi\.yaml names no project"):
        project.name()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"config:\n  a: [s3cret\n  b: c\n", r"cannot be read \(line 3\): it has to be YAML in UTF-8"),
        (b"config: s3cret\xff", "cannot be read: it has to be YAML in UTF-8"),
        (b"s3cret", "is no map: Pulumi's files are maps of settings"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_not_quoted(below: Path, content: bytes, said: str) -> None:
    path = below / "Pulumi.dev.yaml"
    path.write_bytes(content)
    with pytest.raises(OperateError, match=rf"Pulumi\.dev\.yaml {said}") as refused:
        project.read(path)
    assert "s3cret" not in str(refused.value)
