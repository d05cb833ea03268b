"""The order of preference: what is on PATH, else the official release, else a build from source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import make_program
from tools.toolchain import ToolchainError, csi_proto_dir, ensure, find, provide
from tools.toolchain.download import Release
from tools.toolchain.errors import UnreachableError
from tools.toolchain.pins import Component

VERSIONS = {"pulumi": "v3.200.0", "nomad": "Nomad v1.11.3"}
DOWNLOADED = {"pulumi": "v3.221.0", "nomad": "Nomad v2.0.5"}


class Ways:
    """Stands in for the network and the compiler: writes programs of a few lines and notes what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.reachable = False

    def download(self, release: Release, folder: Path, files: frozenset[str]) -> None:
        name = "pulumi" if "pulumi" in release.archive else "nomad"
        self.asked.append(f"download {name}")
        if not self.reachable:
            raise UnreachableError(release.base_url, "no route", "it must be reachable", "Check network")
        for file in files:
            make_program(folder / "bin" / file, f"echo {DOWNLOADED[name]}")

    def build(self, component: Component, folder: Path) -> None:
        self.asked.append(f"build {component.name}")
        for name in (component.name, *component.companions):
            make_program(folder / "bin" / name, f"echo {VERSIONS[component.name]}")


@pytest.fixture
def ways(toolchain_root: Path, path_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Ways:
    monkeypatch.delenv("NOMAD_STATEFUL_TOOLCHAIN", raising=False)
    monkeypatch.delenv(provide.NOMAD_VARIABLE, raising=False)
    stand_in = Ways()
    monkeypatch.setattr(provide, "download_release", stand_in.download)
    monkeypatch.setattr(provide, "build_component", stand_in.build)
    make_program(path_folder / "go", "echo go1.99.0")
    csi_proto_dir().mkdir()
    return stand_in


def put_on_path(folder: Path) -> None:
    make_program(folder / "pulumi", "echo v3.222.0")
    make_program(folder / "pulumi-language-python", "")
    make_program(folder / "nomad", "echo Nomad v1.11.2")


def test_programs_on_path_are_preferred(ways: Ways, path_folder: Path) -> None:
    put_on_path(path_folder)
    toolchain = ensure()
    assert ways.asked == []
    assert toolchain.nomad.resolve() == path_folder / "nomad"
    assert toolchain.said() == f"pulumi 3.222.0 from {path_folder}/pulumi, nomad 1.11.2 from {path_folder}/nomad"
    assert (toolchain.bin_dir / "pulumi-language-python").resolve() == path_folder / "pulumi-language-python"


def test_the_official_release_comes_before_a_build(ways: Ways) -> None:
    ways.reachable = True
    toolchain = ensure()
    assert ways.asked == ["download pulumi", "download nomad"]
    assert toolchain.said() == "pulumi 3.221.0 downloaded, nomad 2.0.5 downloaded"


def test_an_unreachable_publisher_is_named_in_one_line_and_the_programs_are_built(
    ways: Ways, capsys: pytest.CaptureFixture[str]
) -> None:
    toolchain = ensure()
    assert ways.asked == ["download pulumi", "download nomad", "build pulumi", "build nomad"]
    assert toolchain.said() == (
        "pulumi 3.200.0 built (3.221.0 could not be downloaded), nomad 1.11.3 built (2.0.5 could not be downloaded)"
    )
    assert "no official release of nomad 2.0.5 from here: no route" in capsys.readouterr().err


def test_the_second_time_nothing_is_fetched_or_built(ways: Ways) -> None:
    first = ensure()
    ways.asked.clear()
    assert ensure() == first
    assert ways.asked == []


def test_find_finds_only_what_is_there(ways: Ways) -> None:
    assert find() is None
    assert ways.asked == []
    assert ensure() == find()


def test_a_forced_build_asks_nobody_else(ways: Ways, path_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_on_path(path_folder)
    monkeypatch.setenv("NOMAD_STATEFUL_TOOLCHAIN", "build")
    ensure()
    assert ways.asked == ["build pulumi", "build nomad"]


@pytest.mark.parametrize(
    ("way", "asked", "error", "said"),
    [
        ("path", [], ToolchainError, "pulumi on PATH is 'missing'"),
        ("download", ["download pulumi"], UnreachableError, "no route"),
        ("docker", [], ToolchainError, "is 'docker': it must be one of auto, path, download, build"),
    ],
)
def test_a_way_that_is_forced_and_fails_or_is_unknown_never_builds(
    ways: Ways, monkeypatch: pytest.MonkeyPatch, way: str, asked: list[str], error: type[ToolchainError], said: str
) -> None:
    monkeypatch.setenv("NOMAD_STATEFUL_TOOLCHAIN", way)
    with pytest.raises(error, match=said):
        ensure()
    assert ways.asked == asked


def test_a_nomad_that_is_named_by_its_path_is_used_whatever_its_version(
    ways: Ways, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = make_program(tmp_path / "mine" / "nomad", "echo Nomad v2.0.5+ent")
    usual = ensure()
    monkeypatch.setenv(provide.NOMAD_VARIABLE, str(mine))
    chosen = ensure()
    assert chosen.nomad.resolve() == mine
    assert chosen.bin_dir != usual.bin_dir
    assert find() == chosen


def test_a_version_that_is_named_is_built_though_another_is_there(
    ways: Ways, path_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(path_folder)
    monkeypatch.setitem(VERSIONS, "nomad", "Nomad v1.11.2")
    monkeypatch.setenv(provide.NOMAD_VARIABLE, "1.11.2")
    assert ensure().nomad.resolve().parent.parent.name.startswith("nomad-1.11.2-build-")
    assert ways.asked == ["download nomad", "build nomad"]


def test_a_version_without_pins_is_downloaded_or_refused(
    ways: Ways, path_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(path_folder)
    monkeypatch.setenv(provide.NOMAD_VARIABLE, "2.0.5")
    with pytest.raises(UnreachableError, match="no route"):
        ensure()
    ways.reachable = True
    assert ensure().said().endswith("nomad 2.0.5 downloaded")
    assert find() == ensure()
    assert ways.asked == ["download nomad", "download nomad"]


def test_a_version_without_pins_is_never_built(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(provide.NOMAD_VARIABLE, "2.0.5")
    monkeypatch.setenv("NOMAD_STATEFUL_TOOLCHAIN", "build")
    with pytest.raises(ToolchainError, match=r"nomad 2\.0\.5 .*it is only downloaded"):
        ensure()


def test_the_last_of_1_11_is_had_by_its_name_also_where_a_newer_one_is_downloaded(
    ways: Ways, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways.reachable = True
    assert ensure().said().endswith("nomad 2.0.5 downloaded")
    monkeypatch.setitem(DOWNLOADED, "nomad", "Nomad v1.11.3")
    monkeypatch.setenv(provide.NOMAD_VARIABLE, "1.11.3")
    assert ensure().said().endswith("nomad 1.11.3 downloaded")


@pytest.mark.parametrize("value", ["1.9.9", "/nowhere/nomad", "nomad"])
def test_a_nomad_that_is_neither_is_refused(ways: Ways, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(provide.NOMAD_VARIABLE, value)
    with pytest.raises(
        ToolchainError, match=r"must be the path of a nomad, or one of 1\.11\.2, 1\.11\.3, 2\.0\.5\. Correct it"
    ):
        ensure()


def test_a_program_that_says_no_version_is_no_nomad(
    ways: Ways, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(provide.NOMAD_VARIABLE, str(make_program(tmp_path / "other" / "nomad", "echo hello")))
    with pytest.raises(ToolchainError, match="`nomad version` must say one"):
        ensure()
