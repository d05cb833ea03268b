"""Whether the images that jobs run by default are on the list, and still what their tags stood for."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.drivers.catalogue import DRIVERS
from nomad_stateful.program.settings.metrics import VolumeExporter

LIST: Final = Path(__file__).with_name("images.toml")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_HUB: Final = ("docker.io", "https://registry-1.docker.io")
_INDEX: Final = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json"
_TIMEOUT_S: Final = 10.0


class NotAsked(Exception):
    """The registry cannot be asked; the message says why."""


@dataclass(frozen=True)
class Listed:
    """An image of the list; `digest` is empty where none is known."""

    name: str
    digest: str


def defaults() -> list[str]:
    """The images that a stack runs without naming one."""
    databases = [image for one in DATABASES.values() for image in (one.image, one.exporter_image)]
    drivers = [f"{driver.image}:{driver.default_version}" for driver in DRIVERS.values()]
    return sorted([*databases, VolumeExporter.model_fields["image"].default, *drivers])


def listed(names: Iterable[str], path: Path = LIST) -> tuple[list[Listed], list[str]]:
    """The list's entries of these images, and complaints about what is missing, left over or not in order."""
    known: dict[str, Mapping[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))
    wanted = set(names)
    complaints = [f"{path.name}: {name} runs by default and is not listed" for name in sorted(wanted - known.keys())]
    complaints += [f"{path.name}: {name} is no default any more: take it off" for name in sorted(known.keys() - wanted)]
    for name, entry in known.items():
        digest = str(entry.get("digest", ""))
        if digest and not (_DIGEST.fullmatch(digest) and entry.get("source")):
            complaints.append(f"{path.name}: {name} needs a digest sha256:…, and its source")
        if not digest and not entry.get("unknown"):
            complaints.append(f"{path.name}: {name} has neither a digest nor a reason in `unknown`")
    return [Listed(name, str(entry.get("digest", ""))) for name, entry in known.items()], complaints


def moved(images: Iterable[Listed], registries: Mapping[str, str] | None = None) -> tuple[list[str], list[str]]:
    """Complaints about tags that stand for another image than listed, and why others could not be looked up."""
    complaints, missing = [], []
    for image in images:
        if not image.digest:
            continue
        try:
            there = _digest_of(image.name, registries or {})
        except NotAsked as error:
            missing.append(f"{image.name}: not looked up: {error}")
            continue
        if there != image.digest:
            complaints.append(f"{LIST.name}: {image.name} is {there} in its registry, and was {image.digest}")
    return complaints, missing


def _digest_of(name: str, registries: Mapping[str, str]) -> str:
    host, repository, tag = _parts(name)
    base = registries.get(host) or (_HUB[1] if host == _HUB[0] else f"https://{host}")
    url = f"{base}/v2/{repository}/manifests/{tag}"
    try:
        answer = httpx2.head(url, headers={"Accept": _INDEX}, timeout=_TIMEOUT_S)
        if answer.status_code == 401:
            token = _token(answer.headers.get("WWW-Authenticate", ""))
            headers = {"Accept": _INDEX, "Authorization": f"Bearer {token}"}
            answer = httpx2.head(url, headers=headers, timeout=_TIMEOUT_S)
        answer.raise_for_status()
    except (httpx2.HTTPError, OSError, ValueError) as error:
        raise NotAsked(f"{host} gave no answer that can be used ({error})") from error
    digest = answer.headers.get("Docker-Content-Digest", "")
    if not _DIGEST.fullmatch(digest):
        raise NotAsked(f"{host} told no digest")
    return str(digest)


def _token(challenge: str) -> str:
    """What a registry gives everybody, asked where its challenge says."""
    asked = dict(re.findall(r'(realm|service|scope)="([^"]*)"', challenge))
    if "realm" not in asked:
        raise ValueError(f"it asks for a login that is not understood: {challenge!r}")
    answer = httpx2.get(asked.pop("realm"), params=asked, timeout=_TIMEOUT_S)
    answer.raise_for_status()
    return str(answer.json()["token"])


def _parts(name: str) -> tuple[str, str, str]:
    """Host, repository and tag, as docker reads them."""
    repository, _, tag = name.rpartition(":")
    first, slash, rest = repository.partition("/")
    if slash and ("." in first or ":" in first):
        return first, rest, tag
    return _HUB[0], repository if slash else f"library/{repository}", tag
