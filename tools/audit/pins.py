"""What the lock files pin, and whether they pin it wholly."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.markers import Marker
from packaging.utils import canonicalize_name

_REQUIREMENT: Final = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;]+)\s*(?:;\s*(?P<marker>.+))?$")
_HASH: Final = re.compile(r"--hash=sha256:[0-9a-f]{64}")
NPM_HASH: Final = re.compile(r"sha512-[A-Za-z0-9+/]{86}==")


@dataclass(frozen=True)
class Pin:
    """A pinned package: ``ecosystem`` as OSV names it, ``licence`` where the lock file says it."""

    ecosystem: str
    name: str
    version: str
    file: str
    hashed: bool
    marker: str = ""
    licence: str = ""

    @property
    def applies(self) -> bool:
        """Whether this machine needs it."""
        return not self.marker or Marker(self.marker).evaluate()


def python(path: Path) -> tuple[list[Pin], list[str]]:
    """The pins of a requirements file, and complaints about lines that are none."""
    pins, complaints = [], []
    logical = path.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in logical.splitlines():
        text = re.sub(r"(^|\s)#.*", "", line).strip()
        bare = re.sub(r"\s*--hash=\S+", "", text).strip()
        if not bare:
            continue
        found = _REQUIREMENT.match(bare)
        if not found:
            complaints.append(f"{path}: `{bare}` is not pinned to one version")
            continue
        name = canonicalize_name(found["name"])
        hashed = bool(_HASH.search(text))
        pins.append(Pin("PyPI", name, found["version"], str(path), hashed, found["marker"] or ""))
    return pins, complaints


def npm(path: Path) -> list[Pin]:
    """The packages of a package-lock.json; those in the project's own folders are left out."""
    packages: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["packages"]
    return [
        Pin(
            "npm",
            where.rpartition("node_modules/")[2],
            entry["version"],
            str(path),
            bool(NPM_HASH.fullmatch(entry.get("integrity", ""))),
            licence=str(entry.get("license", "")),
        )
        for where, entry in packages.items()
        if where.startswith("node_modules/") and not entry.get("link")
    ]


def go(path: Path) -> list[Pin]:
    """The modules that a go.mod requires; hashed when go.sum beside it has them."""
    sums = path.with_name("go.sum")
    known = (
        set(re.findall(r"^(\S+) (v\S+) h1:", sums.read_text(encoding="utf-8"), re.MULTILINE)) if sums.exists() else ()
    )
    text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    replaced = set(re.findall(r"^\s*(?:replace )?(\S+)(?: v\S+)? => \S+ v\S+$", text, re.MULTILINE))
    required = re.findall(r"^(?:require)?\s+(\S+\.\S+/\S+) (v\S+)\s*$", text, re.MULTILINE)
    return [
        Pin("Go", name, version.removeprefix("v"), str(path), (name, version) in known)
        for name, version in required
        if name not in replaced
    ]


def complaints(pins: list[Pin]) -> list[str]:
    """Pins without the hash of what they stand for."""
    return [f"{pin.file}: {pin.name} {pin.version} has no hash" for pin in pins if not pin.hashed]
