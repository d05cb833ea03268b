"""Pulumi's plugins for the sandbox, each the official one or the embedded stand-in."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.machine.launcher import write_launcher
from sandbox.settings import SandboxError, SandboxSettings
from sandbox.stack.environment import pulumi_home
from tools.toolchain.cache import cache_root
from tools.toolchain.official import archive_name, take

CHOICES: Final = ("auto", "official", "embedded")
_PROBE_TIMEOUT_S: Final = 3.0
_DOWNLOAD_TIMEOUT_S: Final = 600.0


@dataclass(frozen=True)
class Plugin:
    """A resource plugin, in the version that its installed SDK asks for."""

    name: str
    version: str

    @property
    def folder(self) -> str:
        """The folder's name in PULUMI_HOME/plugins."""
        return f"resource-{self.name}-v{self.version}"

    @property
    def program(self) -> str:
        """The executable's name."""
        return f"pulumi-resource-{self.name}"


def plugins() -> tuple[Plugin, ...]:
    """The official plugins that the program uses."""
    return tuple(Plugin(name, importlib.metadata.version(f"pulumi-{name}")) for name in ("aws", "nomad"))


def ensure(
    settings: SandboxSettings, pulumi: Path, choice: str, official: Path | None = None
) -> tuple[dict[str, str], bool]:
    """Puts the plugins into the sandbox's PULUMI_HOME; returns the kind of each, and whether anything changed.

    `auto` takes a plugin out of the folder of official parts if it is there, else keeps the plugin that is in place,
    else takes the embedded one; see docs/decisions/2026-11-22-which-plugins-by-default.md.

    Raises:
        SandboxError: an official plugin was asked for and cannot be had.
        ToolchainError: the folder of official parts, or an archive in it, is not what it should be.
    """
    before = installed(settings)
    found = {plugin: take(official, plugin.program, plugin.version) if official else None for plugin in plugins()}
    changed = [_ensure(settings, pulumi, plugin, choice, program) for plugin, program in found.items()]
    after = installed(settings)
    return after, after != before or any(changed)


def _ensure(settings: SandboxSettings, pulumi: Path, plugin: Plugin, choice: str, archived: Path | None) -> bool:
    """Puts one plugin in place; returns whether it is another one than before."""
    path = _place(settings, plugin)
    if choice == "embedded" or (choice == "auto" and archived is None):
        if path.exists() and (choice == "auto" or not path.is_symlink()):
            return False
        _replace(path)
        write_launcher(path, f"sandbox.standins.plugins.{plugin.name}")
        return True
    program = archived or _download(pulumi, plugin)
    if path.is_symlink() and path.resolve() == program.resolve():
        return False
    _replace(path)
    path.symlink_to(program)
    return True


def _place(settings: SandboxSettings, plugin: Plugin) -> Path:
    return pulumi_home(settings) / "plugins" / plugin.folder / plugin.program


def _replace(path: Path) -> None:
    shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.mkdir(mode=0o755, parents=True)


def installed(settings: SandboxSettings) -> dict[str, str]:
    """Returns the kind of each plugin that is in place, official or embedded, by the plugin's name."""
    places = {plugin.name: _place(settings, plugin) for plugin in plugins()}
    return {name: "official" if place.is_symlink() else "embedded" for name, place in places.items() if place.exists()}


def kinds(settings: SandboxSettings) -> str:
    """Returns the kinds as a sentence's part: "embedded aws, official nomad"."""
    return ", ".join(f"{kind} {name}" for name, kind in sorted(installed(settings).items()))


def _download(pulumi: Path, plugin: Plugin) -> Path:
    """Returns the official plugin out of the cache, where the engine puts it from its own download."""
    home = cache_root() / "pulumi-home"
    program = home / "plugins" / plugin.folder / plugin.program
    if program.exists():
        return program
    env = {**os.environ, "PULUMI_HOME": str(home), "PULUMI_SKIP_UPDATE_CHECK": "1"}
    words = [str(pulumi), "plugin", "install", "resource", plugin.name, plugin.version]
    said = "the download is unreachable"
    if _downloadable(plugin):
        try:
            done = subprocess.run(
                words,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=_DOWNLOAD_TIMEOUT_S,
            )
            said = done.stderr.strip() or f"`{' '.join(words)}` ended with {done.returncode}"
        except subprocess.TimeoutExpired:
            said = f"`{' '.join(words)}` took more than {_DOWNLOAD_TIMEOUT_S:.0f} s"
    if not program.exists():
        raise SandboxError(
            f"--plugins is official: the official plugin {plugin.name} {plugin.version} cannot be had here: {said}. "
            f"Check network and proxy, put {archive_name(plugin.program, plugin.version)} into a folder and name it "
            "with OFFICIAL, or leave --plugins out."
        )
    return program


def _downloadable(plugin: Plugin) -> bool:
    archive = archive_name(plugin.program, plugin.version)
    request = urllib.request.Request(f"https://get.pulumi.com/releases/plugins/{archive}", method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=_PROBE_TIMEOUT_S) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError, ValueError):
        return False
