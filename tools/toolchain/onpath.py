"""Programs that the machine already has: found on PATH, used when their version is suitable."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tools.toolchain.cache import cache_root
from tools.toolchain.errors import ToolchainError
from tools.toolchain.pins import Component
from tools.toolchain.versions import Version, parse_version

_ANSWER_TIMEOUT_S = 20


def find_on_path(component: Component, path: str | None = None) -> Path:
    """The suitable program on PATH (default: the shell's); ToolchainError says why there is none."""
    search = foreign_path(os.environ.get("PATH", "") if path is None else path)
    found = shutil.which(component.name, path=search)
    key = f"{component.name} on PATH"
    remedy = f"Install {component.name} {component.suitable} or let it be downloaded or built"
    if found is None:
        raise ToolchainError(key, "missing", "it must be there to be used", remedy)
    version = version_of(Path(found))
    if version is None or version not in component.suitable:
        shown = f"{found} {version or '(no version)'}"
        raise ToolchainError(key, shown, f"its version must be {component.suitable}", remedy)
    for companion in component.companions:
        if locate_companion(companion, Path(found), search) is None:
            raise ToolchainError(key, found, f"{companion} must lie beside it or on PATH", remedy)
    return Path(found)


def locate_companion(name: str, program: Path, path: str) -> Path | None:
    """A program that belongs to `program`: in the same folder, in the folder it is linked from, or on PATH."""
    for folder in (program.parent, program.resolve().parent):
        if os.access(folder / name, os.X_OK):
            return folder / name
    found = shutil.which(name, path=path)
    return Path(found) if found else None


def foreign_path(path: str) -> str:
    """PATH without the folders of our own cache, or a shell set up for the sandbox would find what we put there."""
    own = os.path.realpath(cache_root())
    folders = path.split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if folder and not _is_inside(os.path.realpath(folder), own))


def version_of(program: Path) -> Version | None:
    """The version a program says it has, or None if it does not say one."""
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "1"}
    environment.pop("AWS_CA_BUNDLE", None)
    try:
        result = subprocess.run(
            [str(program), "version"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ANSWER_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(result.stdout) if result.returncode == 0 else None


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)
