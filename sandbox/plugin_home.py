"""Pulumi's plugins for the sandbox: the official ones where they can be had, else the embedded stand-ins."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.environment import pulumi_home
from sandbox.settings import PROJECT, SandboxError, SandboxSettings
from sandbox.toolchain.cache import cache_root

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


def ensure(settings: SandboxSettings, pulumi: Path, choice: str) -> tuple[str, bool]:
    """Puts the plugins into the sandbox's PULUMI_HOME; gives which kind they are and whether anything changed.

    `auto` keeps what is there; else it takes the official plugins if all are in the cache or can be downloaded.

    Raises:
        SandboxError: `official` was asked for and cannot be had.
    """
    present = installed(settings)
    if present and choice in ("auto", present):
        return present, False
    official = _official(pulumi) if choice != "embedded" else None
    if official is None and choice == "official":
        raise SandboxError(
            "--plugins is official: the official plugins are neither cached nor downloadable here. "
            "Check network and proxy, or use --plugins embedded."
        )
    home = pulumi_home(settings) / "plugins"
    for plugin in plugins():
        folder = home / plugin.folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o755, parents=True)
        if official is not None:
            (folder / plugin.program).symlink_to(official / plugin.folder / plugin.program)
        else:
            _write_wrapper(folder / plugin.program, plugin)
    return installed(settings), True


def installed(settings: SandboxSettings) -> str:
    """Which kind is in place: official, embedded, or empty when some plugin is missing."""
    programs = [pulumi_home(settings) / "plugins" / plugin.folder / plugin.program for plugin in plugins()]
    if not all(program.exists() for program in programs):
        return ""
    return "official" if all(program.is_symlink() for program in programs) else "embedded"


def write_command(path: Path, module: str, env: Mapping[str, str] | None = None) -> None:
    """Writes an executable that runs one of the project's modules, wherever it is called from."""
    variables = {"PYTHONPATH": str(PROJECT), **(env or {})}
    settings = " ".join(shlex.quote(f"{name}={value}") for name, value in variables.items())
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.write_text(
        f'#!/bin/sh\nexec env {settings} {shlex.quote(sys.executable)} -m {module} "$@"\n',
        encoding="utf-8",
    )
    path.chmod(0o755)


def _write_wrapper(path: Path, plugin: Plugin) -> None:
    write_command(path, f"sandbox.plugins.{plugin.name}")


def _official(pulumi: Path) -> Path | None:
    """The folder that holds the official plugins, None when they cannot be had."""
    home = cache_root() / "pulumi-home"
    folder = home / "plugins"
    missing = [plugin for plugin in plugins() if not (folder / plugin.folder / plugin.program).exists()]
    if not all(map(_downloadable, missing)):
        return None
    env = {**os.environ, "PULUMI_HOME": str(home), "PULUMI_SKIP_UPDATE_CHECK": "1"}
    for plugin in missing:
        words = [str(pulumi), "plugin", "install", "resource", plugin.name, plugin.version]
        try:
            done = subprocess.run(
                words, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_DOWNLOAD_TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0 or not (folder / plugin.folder / plugin.program).exists():
            return None
    return folder


def _downloadable(plugin: Plugin) -> bool:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    archive = f"{plugin.program}-v{plugin.version}-linux-{machine}.tar.gz"
    request = urllib.request.Request(f"https://get.pulumi.com/releases/plugins/{archive}", method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=_PROBE_TIMEOUT_S) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError, ValueError):
        return False
