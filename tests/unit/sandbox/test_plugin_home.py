import importlib.metadata
import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox.settings import SandboxError, SandboxSettings, parse_settings
from sandbox.stack import plugin_home
from tests.unit.tools.toolchain.test_official import put_archive


@pytest.fixture
def settings(tmp_path: Path) -> SandboxSettings:
    return parse_settings({}, tmp_path)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(plugin_home, "_downloadable", lambda plugin: False)


EMBEDDED = {"aws": "embedded", "nomad": "embedded"}


def test_embedded_plugins_have_the_versions_of_the_installed_sdks(settings: SandboxSettings) -> None:
    assert plugin_home.ensure(settings, Path("pulumi"), "embedded") == (EMBEDDED, True)
    version = importlib.metadata.version("pulumi-nomad")
    program = settings.home / f"pulumi-home/plugins/resource-nomad-v{version}/pulumi-resource-nomad"
    assert program.stat().st_mode & 0o111
    subprocess.run(["/bin/sh", "-n", str(program)], check=True)


def test_by_default_nothing_is_downloaded_and_what_is_in_place_stays(
    settings: SandboxSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_home, "_download", lambda *_: pytest.fail("asked the network"))
    assert plugin_home.ensure(settings, Path("pulumi"), "auto") == (EMBEDDED, True)
    assert plugin_home.ensure(settings, Path("pulumi"), "auto") == (EMBEDDED, False)


@pytest.mark.usefixtures("offline")
def test_each_plugin_is_taken_out_of_the_folder_on_its_own(settings: SandboxSettings, tmp_path: Path) -> None:
    put_archive(tmp_path / "parts")
    mixed = {"aws": "embedded", "nomad": "official"}
    assert plugin_home.ensure(settings, Path("pulumi"), "auto", tmp_path / "parts") == (mixed, True)
    assert plugin_home.kinds(settings) == "embedded aws, official nomad"
    assert plugin_home.ensure(settings, Path("pulumi"), "auto", tmp_path / "parts") == (mixed, False)
    assert plugin_home.ensure(settings, Path("pulumi"), "auto") == (mixed, False)
    assert plugin_home.ensure(settings, Path("pulumi"), "embedded", tmp_path / "parts") == (EMBEDDED, True)


@pytest.mark.usefixtures("offline")
def test_a_plugin_that_went_with_the_cache_is_put_in_place_again(settings: SandboxSettings, tmp_path: Path) -> None:
    put_archive(tmp_path / "parts")
    plugin_home.ensure(settings, Path("pulumi"), "auto", tmp_path / "parts")
    shutil.rmtree(tmp_path / "cache")
    assert plugin_home.installed(settings) == {"aws": "embedded"}
    assert plugin_home.ensure(settings, Path("pulumi"), "auto")[0] == EMBEDDED


@pytest.mark.usefixtures("offline")
def test_official_plugins_that_cannot_be_had_are_refused_with_the_remedy(settings: SandboxSettings) -> None:
    with pytest.raises(SandboxError, match=r"official plugin aws .* name it with OFFICIAL"):
        plugin_home.ensure(settings, Path("pulumi"), "official")


@pytest.mark.usefixtures("offline")
def test_downloaded_plugins_are_used_where_official_ones_are_asked_for(
    settings: SandboxSettings, tmp_path: Path
) -> None:
    for plugin in plugin_home.plugins():
        program = tmp_path / "cache/nomad-stateful/pulumi-home/plugins" / plugin.folder / plugin.program
        program.parent.mkdir(parents=True)
        program.touch()
    official = {"aws": "official", "nomad": "official"}
    assert plugin_home.ensure(settings, Path("pulumi"), "official") == (official, True)
    assert plugin_home.ensure(settings, Path("pulumi"), "auto") == (official, False)
