"""The layers that images are made of, each built once and kept in the toolchain's cache."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from sandbox.docker import mirror, tree
from sandbox.docker.errors import DockerError
from tools.packages import DEBIAN_KEYRING
from tools.toolchain import cache, progress

SUITE: Final = "sid"
_SCRIPT: Final = Path(__file__).with_name("layer.sh")
_SHOWN_LINES: Final = 8
_VERSION: Final = "3"
"""Changed when the same recipe makes something else."""

Fill = Callable[[Path, Path], None]
"""Puts files into a layer's folder; the second path is the root file system under it."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a layer is made: Debian's packages over the layers below it, a script run there, files put into it."""

    name: str
    below: tuple[Recipe, ...] = ()
    packages: tuple[str, ...] = ()
    script: str = ""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Files of this machine by their path in the image; those in a folder `bin` can be run."""
    fill: Fill | None = None
    fill_key: str = ""
    """Says what `fill` puts in, as far as the files and packages do not say it."""

    @property
    def key(self) -> str:
        """Names exactly this recipe on exactly those below it."""
        sums = [f"{name}={cache.file_digest(path)}" for name, path in sorted(self.files.items())]
        parts = [_VERSION, SUITE, self.name, *self.packages, self.script, *sums, self.fill_key]
        return cache.digest(*parts, *(recipe.key for recipe in self.below), _SCRIPT.read_bytes())


@dataclass(frozen=True)
class Layer:
    """A layer in the cache."""

    folder: Path

    @property
    def tar(self) -> Path:
        """The layer as an image holds it."""
        return self.folder / "layer.tar"

    @property
    def digest(self) -> str:
        """The tar's SHA-256."""
        return (self.folder / "sha256").read_text(encoding="ascii").strip()

    def version(self, package: str) -> str:
        """The upstream version of one of Debian's packages, empty when it is not installed here."""
        for line in (self.folder / "packages").read_text(encoding="utf-8").splitlines():
            name, _, version = line.partition("\t")
            if name.partition(":")[0] == package:
                return version.rpartition(":")[2].rpartition("-")[0].partition("+")[0]
        return ""

    def unpack(self, folder: Path) -> None:
        """Unpacks the layer over what is in a folder. Raises DockerError."""
        words = ["tar", "--extract", "--xattrs", "--xattrs-include=*", "--numeric-owner"]
        _run([*words, "--directory", str(folder), "--file", str(self.tar)])


def root() -> Path:
    """Where layers are kept."""
    return cache.cache_root() / "docker"


def provide(recipes: Iterable[Recipe]) -> tuple[Layer, ...]:
    """Returns layers, from the bottom up, built if they are not there yet. Raises DockerError."""
    with cache.locked(root()):
        return tuple(build(recipe) for recipe in recipes)


def build(recipe: Recipe) -> Layer:
    """Returns the layer, built if it is not there yet. The caller holds the lock on `root()`.

    Raises:
        DockerError: it cannot be built; the last lines of the tools are in the message.
    """
    folder = root() / f"layer-{recipe.name}-{recipe.key}"
    if not folder.is_dir():
        # Publishing clears the folder of whoever works beside it, so what is below is built before.
        for lower in recipe.below:
            build(lower)
        with progress.step(f"building the image layer {recipe.name}", 30):
            cache.publish(folder, partial(_make, recipe))
    return Layer(folder)


def _make(recipe: Recipe, folder: Path) -> None:
    workshop = folder.with_name("work")
    workshop.mkdir()
    upper = workshop / "layer"
    if recipe.below:
        _over(recipe, workshop, upper)
    else:
        # What it unpacks is run as root of this machine: without Debian's signature nothing is.
        signed = ("--force-check-gpg", f"--keyring={DEBIAN_KEYRING}")
        packages = f"--include={','.join(recipe.packages)}"
        _run(["debootstrap", "--variant=minbase", *signed, packages, SUITE, str(upper), mirror.debian(SUITE)])
        _trim(upper)
        (workshop / "layer.packages").touch()
    (folder / "sha256").write_text(f"{tree.pack(upper, folder / 'layer.tar')}\n", encoding="ascii")
    (workshop / "layer.packages").replace(folder / "packages")


def _over(recipe: Recipe, workshop: Path, upper: Path) -> None:
    """Makes a layer on those below it, which are unpacked one over the other."""
    base = workshop / "base"
    base.mkdir()
    for lower in recipe.below:
        Layer(root() / f"layer-{lower.name}-{lower.key}").unpack(base)
    upper.mkdir(mode=0o755)
    for inside, source in recipe.files.items():
        target = upper / inside.lstrip("/")
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        target.chmod(0o755 if target.parent.name == "bin" else 0o644)
    if recipe.packages or recipe.script:
        chroot = ["unshare", "--mount", "--pid", "--fork", "sh", str(_SCRIPT), str(base), str(upper)]
        _run([*chroot, *recipe.packages], recipe.script)
    else:
        (workshop / "layer.packages").touch()
    if recipe.fill is not None:
        recipe.fill(upper, base)


def _trim(base: Path) -> None:
    script = "rm -rf var/lib/apt/lists/* var/cache/apt/* var/log/* usr/share/doc/* usr/share/man/* usr/share/locale/*"
    _run(["sh", "-eu"], f"cd '{base}'\n{script} etc/resolv.conf etc/hostname\n")


def _run(words: list[str], stdin: str = "") -> None:
    # A folder of the machine, which a layer has not: packages fail to be configured in it.
    env = {key: value for key, value in os.environ.items() if key != "TMPDIR"}
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, check=False, env=env)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()[-_SHOWN_LINES:]
        print("\n".join(lines), file=sys.stderr)
        said = f"`{' '.join(words[:4])} …` failed with exit code {done.returncode}; it said:\n  " + "\n  ".join(lines)
        # What debootstrap says where the mirror has no such suite, as Ubuntu's has not.
        lacks = any("Failed getting release file" in line or "Invalid Release file" in line for line in lines)
        raise DockerError(f"{said}\nThe mirror must have suite {SUITE}. {mirror.REMEDY}." if lacks else said)
