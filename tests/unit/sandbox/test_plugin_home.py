import importlib.metadata
import subprocess
from pathlib import Path

import pytest

from sandbox import plugin_home
from sandbox.settings import SandboxError, SandboxSettings, parse_settings


@pytest.fixture
def settings(tmp_path: Path) -> SandboxSettings:
    return parse_settings({}, tmp_path)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(plugin_home, "_downloadable", lambda plugin: False)


def test_embedded_plugins_have_the_versions_of_the_installed_sdks(settings: SandboxSettings) -> None:
    assert plugin_home.ensure(settings, Path("pulumi"), "embedded") == ("embedded", True)
    version = importlib.metadata.version("pulumi-nomad")
    program = settings.home / f"pulumi-home/plugins/resource-nomad-v{version}/pulumi-resource-nomad"
    assert program.stat().st_mode & 0o111
    subprocess.run(["/bin/sh", "-n", str(program)], check=True)


@pytest.mark.usefixtures("offline")
def test_auto_takes_the_embedded_ones_where_the_official_cannot_be_had_and_then_keeps_them(
    settings: SandboxSettings,
) -> None:
    assert plugin_home.ensure(settings, Path("pulumi"), "auto") == ("embedded", True)
    assert plugin_home.ensure(settings, Path("pulumi"), "auto") == ("embedded", False)


@pytest.mark.usefixtures("offline")
def test_official_plugins_that_cannot_be_had_are_refused_with_the_way_out(settings: SandboxSettings) -> None:
    with pytest.raises(SandboxError, match="--plugins embedded"):
        plugin_home.ensure(settings, Path("pulumi"), "official")


@pytest.mark.usefixtures("offline")
def test_cached_official_plugins_are_preferred(settings: SandboxSettings, tmp_path: Path) -> None:
    for plugin in plugin_home.plugins():
        program = tmp_path / "cache/nomad-stateful/pulumi-home/plugins" / plugin.folder / plugin.program
        program.parent.mkdir(parents=True)
        program.touch()
    assert plugin_home.ensure(settings, Path("pulumi"), "auto") == ("official", True)
    assert plugin_home.ensure(settings, Path("pulumi"), "embedded") == ("embedded", True)
