"""Building from the committed pins with the machine's Go."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.settings import PROJECT
from tests.programs import make_program
from tools.packages import PackageError
from tools.toolchain import pins
from tools.toolchain.errors import ToolchainError
from tools.toolchain.golang import build_component, require_go, workspace_for
from tools.toolchain.pins import ACTIONLINT, CSI_SANITY, JUDGE, MINIMUM_GO, NOMAD, NOMADS, PINS, PULUMI, Component
from tools.toolchain.versions import parse_version

# Answers `go env GOVERSION`, and takes the argument after -o for the file to make.
WORKING_GO = """
if [ "$1" = env ]; then echo go1.99.0; exit; fi
while [ "$1" != -o ]; do shift; done
echo "$CGO_ENABLED $GOFLAGS" > go.mod
echo program > "$2"
"""


@pytest.fixture
def made(tmp_path: Path) -> Path:
    folder = tmp_path / "workshop" / "made"
    folder.mkdir(parents=True)
    return folder


def test_a_machine_without_go_is_told_what_to_install(path_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"go is 'not on PATH': .* needs Go 1\.25\.8 or newer\. Install Go"):
        require_go(tmp_path)


def test_a_go_that_is_too_old_is_refused_with_its_version(path_folder: Path, tmp_path: Path) -> None:
    make_program(path_folder / "go", "echo go1.22.1")
    with pytest.raises(ToolchainError, match=r"go version is 'go1\.22\.1'"):
        require_go(tmp_path)


def test_a_program_of_the_project_is_built_anew_when_its_code_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path_folder: Path, made: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for name in ("go.mod", "go.sum", "main.go", "main_test.go"):
        (own / name).write_text("first")
    monkeypatch.setattr(pins, "_OWN", {"judge": own})
    before = JUDGE.key()
    (own / "main_test.go").write_text("second")
    assert JUDGE.key() == before
    (own / "main.go").write_text("second")
    assert JUDGE.key() != before
    make_program(path_folder / "go", WORKING_GO)
    build_component(JUDGE, made)
    assert {path.name for path in (made.parent / "work" / "judge").iterdir()} == {"go.mod", "go.sum", "main.go"}


def test_a_build_works_on_a_copy_of_the_pins(path_folder: Path, made: Path) -> None:
    make_program(path_folder / "go", WORKING_GO)
    before = (PINS / "csi" / "go.mod").read_bytes()
    build_component(CSI_SANITY, made)
    assert (made / "bin" / "csi-sanity").read_text() == "program\n"
    assert (PINS / "csi" / "go.mod").read_bytes() == before
    assert sorted(path.name for path in (PINS / "csi").iterdir()) == ["go.mod", "go.sum"]


def test_the_user_s_go_flags_stay_in_force(path_folder: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFLAGS", "-p=1")
    make_program(path_folder / "go", WORKING_GO)
    build_component(CSI_SANITY, made)
    assert (made.parent / "work" / "csi" / "go.mod").read_text() == "0 -p=1\n"


def test_a_failed_build_shows_what_go_said_and_not_what_it_fetched(path_folder: Path, made: Path) -> None:
    body = "if [ $1 = env ]; then echo go1.99.0; exit; fi; echo 'go: downloading a v1' >&2; echo 'no space' >&2; exit 1"
    make_program(path_folder / "go", body)
    with pytest.raises(ToolchainError, match="no space") as failure:
        build_component(CSI_SANITY, made)
    assert "downloading" not in str(failure.value)


def test_nomad_is_not_built_without_a_c_compiler(
    path_folder: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    make_program(path_folder / "go", WORKING_GO)
    with pytest.raises(PackageError, match="gcc for building Nomad from source"):
        build_component(NOMAD, made)


@pytest.mark.parametrize(
    "component",
    [PULUMI, *(one for one in NOMADS.values() if one.programs), CSI_SANITY, ACTIONLINT],
    ids=lambda one: f"{one.name}-{one.version}",
)
def test_the_pinned_modules_are_those_of_the_version_that_is_promised(component: Component) -> None:
    lines = (PINS / component.programs[0].pins / "go.mod").read_text().splitlines()
    module = component.programs[0].package.partition("/cmd/")[0]
    pinned = [line.split()[1] for line in lines if line.strip().startswith(f"{module} ")]
    assert pinned == [f"v{component.version}"]


def test_the_newest_go_that_the_pins_need_is_the_one_that_is_asked_for() -> None:
    lines = [line for path in PINS.glob("*/go.mod") for line in path.read_text().splitlines()]
    assert max(filter(None, [parse_version(line) for line in lines if line.startswith("go ")])) == MINIMUM_GO


@pytest.mark.parametrize("name", ["pulumi", "language-python", "nomad", "nomad-1.11.2", "csi", "actionlint", "judge"])
def test_programs_are_built_outside_the_clone(name: str, tmp_path: Path) -> None:
    assert PROJECT not in workspace_for(name, tmp_path).parents
