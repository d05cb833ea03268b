"""The AWS CLI for the root of exec tasks: the official one from PyPI with Python, in few files, for S3 alone."""

from __future__ import annotations

import py_compile
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sandbox.settings import PROJECT, SandboxError
from tools.toolchain import cache

_PINS: Final = PROJECT / "tools/aws-cli-requirements.txt"
_HOME: Final = "/usr/lib/aws-cli"
"""Where it is in the task's root: that is copied for each task, so it has to be few files."""
_WRAPPER: Final = f"""\
#!/bin/sh
# The AWS CLI of PyPI, for S3 alone.
export PYTHONHOME={_HOME} PYTHONPATH={_HOME}/site.zip AWS_DATA_PATH={_HOME}/data PYTHONWARNINGS=ignore
exec {_HOME}/python3 -B -S -m awscli "$@"
"""
_SERVICES: Final = ("s3", "sts")
# Its start-up looks for these by name; nothing here calls them.
_NAMED_ONLY: Final = ("sdb", "codedeploy", "config", "sagemaker-runtime", "sms-voice")
_UNUSED: Final = frozenset(
    {"test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "site-packages", "lib2to3", "distutils"}
)
_EXTENSIONS: Final = ("_test", "_tkinter", "_sqlite3", "_curses", "_dbm", "_gdbm", "xx", "nis", "readline", "_codecs_")


def folder() -> Path:
    """Returns a folder with its files by their paths in the root, made once and kept in the toolchain's cache.

    Raises:
        SandboxError: its packages cannot be had.
    """
    root = cache.cache_root() / "aws-cli"
    parts = (Path(__file__).read_bytes(), _PINS.read_bytes(), sys.version, sys.base_prefix)
    made = root / f"root-{cache.digest(*parts)}"
    if not made.is_dir():
        with cache.locked(root):
            cache.publish(made, _make)
    return made


def binaries(made: Path) -> list[Path]:
    """Returns what of the folder needs shared libraries."""
    home = made / _HOME.lstrip("/")
    return [home / "python3", *sorted((home / "lib").rglob("*.so"))]


def _make(target: Path) -> None:
    packages = target.parent / "packages"
    words = ["pip", "install", "--quiet", "--require-hashes", "--no-deps", "--only-binary=:all:", "--target"]
    done = subprocess.run(
        [sys.executable, "-m", *words, str(packages), "-r", str(_PINS)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SandboxError(f"The AWS CLI cannot be installed: {done.stderr.strip()[-500:]}")
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
    _zip(home / "site.zip", packages, _sources(packages))
    _data(packages / "awscli", home / "data")
    wrapper = target / "usr/local/bin/aws"
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text(_WRAPPER, encoding="ascii")
    wrapper.chmod(0o755)


def _data(package: Path, target: Path) -> None:
    shutil.copytree(package / "data", target)
    for name in ("endpoints.json", "partitions.json", "_retry.json", "sdk-default-configuration.json"):
        if (package / "botocore/data" / name).is_file():
            shutil.copy2(package / "botocore/data" / name, target)
    for name in _SERVICES:
        shutil.copytree(package / "botocore/data" / name, target / name, ignore=shutil.ignore_patterns("examples*"))
    for name in _NAMED_ONLY:
        (target / name).symlink_to("sts")


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
