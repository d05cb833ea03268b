"""Which of the machine's own programs are used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import make_program
from tools.toolchain import cache
from tools.toolchain.errors import ToolchainError
from tools.toolchain.onpath import find_on_path
from tools.toolchain.pins import NOMAD, PULUMI


def test_a_suitable_nomad_is_used(path_folder: Path) -> None:
    nomad = make_program(path_folder / "nomad", "echo Nomad v1.11.2")
    assert find_on_path(NOMAD) == nomad


def test_no_nomad_is_said_to_be_missing(path_folder: Path) -> None:
    with pytest.raises(ToolchainError, match="nomad on PATH is 'missing'"):
        find_on_path(NOMAD)


def test_an_old_nomad_is_refused_with_the_rule(path_folder: Path) -> None:
    make_program(path_folder / "nomad", "echo Nomad v1.11.1")
    with pytest.raises(ToolchainError, match=r"nomad 1\.11\.1': its version must be >=1\.11\.2,<3"):
        find_on_path(NOMAD)


@pytest.mark.parametrize("body", ["exit 1", "echo hello"])
def test_a_program_that_says_no_version_is_refused(path_folder: Path, body: str) -> None:
    make_program(path_folder / "nomad", body)
    with pytest.raises(ToolchainError, match="no version"):
        find_on_path(NOMAD)


def test_pulumi_without_its_language_host_is_refused(path_folder: Path) -> None:
    make_program(path_folder / "pulumi", "echo v3.210.0")
    with pytest.raises(ToolchainError, match="pulumi-language-python must lie beside it or on PATH"):
        find_on_path(PULUMI)


def test_pulumi_may_be_a_link_into_the_folder_of_its_language_host(path_folder: Path, tmp_path: Path) -> None:
    program = make_program(tmp_path / "opt" / "pulumi", "echo v3.210.0")
    make_program(tmp_path / "opt" / "pulumi-language-python", "")
    (path_folder / "pulumi").symlink_to(program)
    assert find_on_path(PULUMI) == path_folder / "pulumi"


def test_our_own_cache_on_path_does_not_count_as_the_machine_s(
    toolchain_root: Path, path_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = make_program(cache.toolchain_root() / "bin-1" / "nomad", "echo Nomad v1.11.3")
    monkeypatch.setenv("PATH", f"{cached.parent}:{path_folder}")
    with pytest.raises(ToolchainError, match="missing"):
        find_on_path(NOMAD)
