"""nomad-stateful-agent for the root of exec tasks: the project's own, with Python and what it imports, in few files."""

from __future__ import annotations

import py_compile
import shutil
import sys
import sysconfig
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sandbox.settings import PROJECT, SandboxError
from tools import locked_packages
from tools.locked_packages import LockedPackagesError
from tools.toolchain import cache

COMMAND: Final = "nomad-stateful-agent"
PACKAGES: Final = ("boto3", "botocore", "s3transfer", "jmespath", "python-dateutil", "six", "urllib3", "pymysql")
# What the tasks of an allocation run; the watch runs beside the client's agent.
_OWN: Final = ("agent", "databases")
_HOME: Final = "/usr/lib/nomad-stateful-agent"
"""Where it is in the task's root: that is copied for each task, so it has to be few files."""
_WRAPPER: Final = f"""\
#!/bin/sh
export PYTHONHOME={_HOME} PYTHONPATH={_HOME}/site.zip AWS_DATA_PATH={_HOME}/data
exec {_HOME}/python3 -B -S -m nomad_stateful.agent "$@"
"""
_SERVICES: Final = ("s3", "sts")
_UNUSED: Final = frozenset(
    {"test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "site-packages", "lib2to3", "distutils"}
)
_EXTENSIONS: Final = ("_test", "_tkinter", "_sqlite3", "_curses", "_dbm", "_gdbm", "xx", "nis", "readline", "_codecs_")


def folder() -> Path:
    """Returns a folder with its files by their paths in the root, made once and kept in the toolchain's cache.

    Raises:
        SandboxError: its packages cannot be had.
    """
    root = cache.cache_root() / "agent"
    own = [path.read_bytes() for path in (Path(__file__), *_own_sources())]
    made = root / f"root-{cache.digest(*own, locked_packages.pins(PACKAGES), sys.version, sys.base_prefix)}"
    if not made.is_dir():
        with cache.locked(root):
            cache.publish(made, _make)
    return made


def binaries(made: Path) -> list[Path]:
    """Returns what of the folder needs shared libraries."""
    home = made / _HOME.lstrip("/")
    return [home / "python3", *sorted((home / "lib").rglob("*.so"))]


def _own_sources() -> list[Path]:
    package = PROJECT / "nomad_stateful"
    return [package / "__init__.py", *(path for name in _OWN for path in sorted((package / name).rglob("*.py")))]


def _make(target: Path) -> None:
    packages = target.parent / "packages"
    try:
        locked_packages.install(PACKAGES, packages)
    except LockedPackagesError as error:
        raise SandboxError(f"The agent's packages cannot be installed: {error}") from None
    home = target / _HOME.lstrip("/")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    modules = home / "lib" / version / "lib-dynload"
    modules.mkdir(parents=True)
    shutil.copy2(Path(sys.executable).resolve(), home / "python3")
    for module in Path(sysconfig.get_config_var("DESTSHARED")).glob("*.so"):
        if not module.name.startswith(_EXTENSIONS):
            shutil.copy2(module, modules)
    stdlib = Path(sysconfig.get_path("stdlib"))
    _zip(home / "lib" / f"{version.replace('.', '')}.zip", stdlib, _sources(stdlib))
    for source in _own_sources():
        copy = packages / source.relative_to(PROJECT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copy)
    _zip(home / "site.zip", packages, _sources(packages))
    _data(packages / "botocore/data", home / "data")
    wrapper = target / "usr/local/bin" / COMMAND
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text(_WRAPPER, encoding="ascii")
    wrapper.chmod(0o755)


def _data(package: Path, target: Path) -> None:
    target.mkdir()
    for name in ("endpoints.json", "partitions.json", "_retry.json", "sdk-default-configuration.json"):
        shutil.copy2(package / name, target)
    for name in _SERVICES:
        shutil.copytree(package / name, target / name, ignore=shutil.ignore_patterns("examples*"))


def _sources(root: Path) -> Iterable[Path]:
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if _UNUSED.isdisjoint(parts[:-1]) and not parts[0].startswith("config-"):
            yield path


def _zip(target: Path, root: Path, sources: Iterable[Path]) -> None:
    """Packs modules, compiled: a task's root is new each time, and would compile them again."""
    compiled = target.parent / "compiled.pyc"
    # Not compressed: Python's own archive has what is needed to unpack others.
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for source in sources:
            inside = source.relative_to(root).with_suffix(".pyc")
            try:
                _compile(source, compiled, str(inside.with_suffix(".py")))
            except SyntaxError:
                continue
            archive.write(compiled, inside)
    compiled.unlink(missing_ok=True)


def _compile(source: Path, target: Path, shown: str) -> None:
    try:
        py_compile.compile(
            str(source),
            cfile=str(target),
            dfile=shown,
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    except py_compile.PyCompileError as error:
        raise SyntaxError(str(error)) from None
