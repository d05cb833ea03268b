"""Provides Pulumi, Nomad and the CSI protocol: from PATH, else from the official release, else built from source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Final

from tools.toolchain import cache, progress
from tools.toolchain.csi import csi_proto_dir, ensure_csi_proto
from tools.toolchain.download import Release, download_release, official_release
from tools.toolchain.errors import ToolchainError, UnreachableError
from tools.toolchain.golang import build_component, prefetching
from tools.toolchain.onpath import find_on_path, foreign_path, locate_companion, version_of
from tools.toolchain.pins import NOMAD, NOMADS, PULUMI, Component
from tools.toolchain.versions import parse_version

MODE_VARIABLE: Final = "NOMAD_STATEFUL_TOOLCHAIN"
NOMAD_VARIABLE: Final = "NOMAD_STATEFUL_NOMAD"
"""Names another Nomad than the usual one: the path of a program, or a version that there are pins for."""


class Mode(Enum):
    """Where the programs may come from."""

    AUTO = "auto"
    PATH = "path"
    DOWNLOAD = "download"
    BUILD = "build"


@dataclass(frozen=True)
class Toolchain:
    """The programs and the generated classes that the sandbox runs on."""

    bin_dir: Path
    pulumi: Path
    nomad: Path

    def said(self) -> str:
        """Returns versions and where they are from, for one line of a report."""
        return f"{_origin(PULUMI, self.pulumi)}, {_origin(NOMAD, self.nomad)}"


def find() -> Toolchain | None:
    """What is already there, without fetching or building anything; None if a part is missing."""
    mode = _mode()
    chosen = _chosen_nomad()
    nomad = chosen if isinstance(chosen, Path) else _existing(chosen, _ways(chosen, mode))
    pulumi = _existing(PULUMI, _ways(PULUMI, mode))
    if pulumi is None or nomad is None or not csi_proto_dir().is_dir():
        return None
    folder = _bin_dir(pulumi, nomad)
    return _toolchain(folder) if folder.is_dir() else None


def ensure() -> Toolchain:
    """Provides everything, building only what is missing; minutes the first time. ToolchainError says what lacks."""
    found = find()
    if found is not None:
        return found
    mode = _mode()
    root = cache.toolchain_root()
    with cache.locked(root):
        chosen = _chosen_nomad()
        if isinstance(chosen, Path):
            (pulumi,), nomad = _provide((PULUMI,), mode), chosen
        else:
            pulumi, nomad = _provide((PULUMI, chosen), mode)
        ensure_csi_proto()
        folder = cache.publish(_bin_dir(pulumi, nomad), partial(_link_all, (pulumi, nomad)))
    return _toolchain(folder)


def ensure_csi() -> Path:
    """The CSI protocol's classes alone, generated if they are not there yet."""
    folder = csi_proto_dir()
    if not folder.is_dir():
        with cache.locked(cache.toolchain_root()):
            ensure_csi_proto()
    return folder


def ensure_built(component: Component) -> Path:
    """A program that is only ever built, made if it is not there yet as its pins and its code now are."""
    folder = _folder(component, Mode.BUILD)
    if not folder.is_dir():
        with cache.locked(cache.toolchain_root()):
            cache.publish(folder, partial(build_component, component))
    return folder / "bin" / component.name


def fetch(component: Component, release: Release) -> Path:
    """Download `release` into the cache; returns the program. The caller holds the lock."""

    def fill(folder: Path) -> None:
        download_release(release, folder, component.files)
        _check(component, folder, Mode.DOWNLOAD)

    return cache.publish(_folder(component, Mode.DOWNLOAD), fill) / "bin" / component.name


def _mode() -> Mode:
    value = os.environ.get(MODE_VARIABLE) or Mode.AUTO.value
    try:
        return Mode(value)
    except ValueError:
        known = ", ".join(mode.value for mode in Mode)
        remedy = f"Unset it or set it to {Mode.AUTO.value}"
        raise ToolchainError(MODE_VARIABLE, value, f"it must be one of {known}", remedy) from None


def _chosen_nomad() -> Component | Path:
    """What NOMAD_VARIABLE names: how to provide it, or where it is. ToolchainError if it is nothing of the kind."""
    value = os.environ.get(NOMAD_VARIABLE, "")
    if not value:
        return NOMAD
    if value in NOMADS:
        return NOMADS[value]
    known = f"it must be the path of a nomad, or one of {', '.join(NOMADS)}"
    path = Path(value).absolute()
    if "/" not in value or not path.is_file():
        raise ToolchainError(NOMAD_VARIABLE, value, known, "Correct it, or unset it for the usual one")
    if version_of(path) is None:
        rule = "`nomad version` must say one"
        raise ToolchainError(f"version of {NOMAD_VARIABLE}", value, rule, "Name a program that runs on this machine")
    return path


def _ways(component: Component, mode: Mode) -> tuple[Mode, ...]:
    """Where it may come from, in the order of preference; one that was asked for is not taken from PATH."""
    if mode in (Mode.AUTO, Mode.PATH) and os.environ.get(NOMAD_VARIABLE) == component.version:
        return Mode.DOWNLOAD, Mode.BUILD
    return (Mode.PATH, Mode.DOWNLOAD, Mode.BUILD) if mode is Mode.AUTO else (mode,)


def _existing(component: Component, ways: Sequence[Mode]) -> Path | None:
    """The program as one of the allowed ways left it."""
    for way in ways:
        if way is Mode.PATH:
            try:
                return find_on_path(component)
            except ToolchainError:
                continue
        program = _folder(component, way) / "bin" / component.name
        if program.is_file():
            return program
    return None


def _provide(components: Sequence[Component], mode: Mode) -> list[Path]:
    ready = {component.name: _without_building(component, _ways(component, mode)) for component in components}
    lacking = [component for component in components if ready[component.name] is None]
    with prefetching(lacking[1:]):
        built = {component.name: _build(component) for component in lacking}
    return [ready[component.name] or built[component.name] for component in components]


def _without_building(component: Component, ways: Sequence[Mode]) -> Path | None:
    """The program if it is there or can be downloaded; None if it has to be built."""
    existing = _existing(component, ways)
    if existing is not None or ways == (Mode.BUILD,):
        return existing
    if ways == (Mode.PATH,):
        return find_on_path(component)
    try:
        return _download(component)
    except UnreachableError as error:
        if Mode.BUILD not in ways or not component.programs:
            raise
        version = _version(component, Mode.DOWNLOAD)
        progress.say(f"no official release of {component.name} {version} from here: {error.value}")
        return None


def _download(component: Component) -> Path:
    version = _version(component, Mode.DOWNLOAD)
    release = official_release(component.name, version)
    if release is None:
        rule = "the publisher must have a release for this kind of machine"
        raise UnreachableError(f"{component.name} {version}", "no release", rule, "Build it from source")
    return fetch(component, release)


def _build(component: Component) -> Path:
    def fill(folder: Path) -> None:
        build_component(component, folder)
        _check(component, folder, Mode.BUILD)

    if not component.programs:
        rule = "it is only downloaded: no go.sum here fixes what it would be built from"
        remedy = f"Unset {MODE_VARIABLE}, or name the path of a {component.name} that you have"
        raise ToolchainError(f"{component.name} {component.version}", "not there", rule, remedy)

    return cache.publish(_folder(component, Mode.BUILD), fill) / "bin" / component.name


def _check(component: Component, folder: Path, way: Mode) -> None:
    """Runs the new program once before it gets its place in the cache."""
    version, wanted = version_of(folder / "bin" / component.name), _version(component, way)
    if version is None or version != parse_version(wanted):
        raise ToolchainError(
            f"version of the new {component.name}", str(version), f"it must say {wanted}", "Run this again"
        )
    for name in component.companions:
        if not (folder / "bin" / name).is_file():
            raise ToolchainError(f"{component.name} {wanted}", f"without {name}", f"{name} belongs to it", "Build it")


def _version(component: Component, way: Mode) -> str:
    return (component.download_version if way is Mode.DOWNLOAD else "") or component.version


def _folder(component: Component, way: Mode) -> Path:
    name = f"{component.name}-{_version(component, way)}-{way.value}-{component.key()}"
    return cache.toolchain_root() / name


def _origin(component: Component, program: Path) -> str:
    """Returns the program's version with how it got into the cache, or with its path."""
    place, root = program.resolve(), cache.toolchain_root().resolve()
    if place.is_relative_to(root):
        folder = place.relative_to(root).parts[0].removeprefix(f"{component.name}-")
        for way, done in ((Mode.DOWNLOAD, "downloaded"), (Mode.BUILD, "built")):
            version, found, _ = folder.partition(f"-{way.value}-")
            if found:
                newer = component.download_version if way is Mode.BUILD else ""
                note = f" ({newer} could not be downloaded)" if newer else ""
                return f"{component.name} {version} {done}{note}"
    return f"{component.name} {version_of(place)} from {place}"


def _bin_dir(*programs: Path) -> Path:
    return cache.toolchain_root() / f"bin-{cache.digest(*map(str, programs))}"


def _toolchain(folder: Path) -> Toolchain:
    return Toolchain(folder, folder / PULUMI.name, folder / NOMAD.name)


def _link_all(programs: tuple[Path, Path], folder: Path) -> None:
    """One folder with everything in it, so that one entry in PATH is enough."""
    path = foreign_path(os.environ.get("PATH", ""))
    for component, program in zip((PULUMI, NOMAD), programs, strict=True):
        (folder / component.name).symlink_to(program)
        for name in component.files - {component.name}:
            companion = locate_companion(name, program, path)
            if companion is not None:
                (folder / name).symlink_to(companion)
