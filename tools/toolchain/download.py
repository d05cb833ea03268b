"""The publishers' official releases: fetched, checked against the sums that are pinned here, unpacked.

A list of sums from the same server would be replaced together with the archive.
"""

from __future__ import annotations

import http.client
import platform
import re
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from tools.toolchain import progress
from tools.toolchain.cache import file_digest, toolchain_root
from tools.toolchain.errors import ToolchainError, UnreachableError
from tools.toolchain.pins import RELEASE_SUMS

_CONNECT_TIMEOUT_S = 3.0
_STALL_TIMEOUT_S = 30.0
_BLOCK = 1 << 20
_PART: Final = ".part-"
"""An archive that is not whole yet: what is there of it is not fetched again."""
_SHA256_LINE: Final = re.compile(r"^([0-9a-fA-F]{64})\s+\*?(?:\./)?(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Release:
    """Where a publisher keeps the archive of a version."""

    base_url: str
    archive: str
    sha256: str
    """Of the archive; empty where nobody has pinned it, and then it is not taken."""

    def url(self, name: str) -> str:
        return f"{self.base_url.rstrip('/')}/{name}"


def official_release(component: str, version: str) -> Release | None:
    """The publisher's release for this kind of machine, or None where there is none."""
    machine = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine())
    if machine is None or platform.system() != "Linux":
        return None
    if component == "pulumi":
        base = f"https://github.com/pulumi/pulumi/releases/download/v{version}"
        pulumi_machine = {"amd64": "x64", "arm64": "arm64"}[machine]
        archive = f"pulumi-v{version}-linux-{pulumi_machine}.tar.gz"
        return Release(base, archive, RELEASE_SUMS.get(archive, ""))
    if component == "nomad":
        base = f"https://releases.hashicorp.com/nomad/{version}"
        archive = f"nomad_{version}_linux_{machine}.zip"
        return Release(base, archive, RELEASE_SUMS.get(archive, ""))
    return None


def download_release(release: Release, folder: Path, files: frozenset[str]) -> None:
    """Fetches the archive, verifies it and unpacks those of its files into `folder`/bin."""
    url = release.url(release.archive)
    if not release.sha256:
        rule = "tools/toolchain/pins.py must have it for the archive to be taken"
        remedy = "Build it from source, or add the sum of an archive whose signature you verified"
        raise UnreachableError(url, "its SHA-256 is not pinned", rule, remedy)
    with _open(url, _CONNECT_TIMEOUT_S, method="HEAD"):
        pass  # who does not answer at all is known sooner than who stops in the middle
    archive = toolchain_root() / f"{_PART}{release.archive}"
    with progress.step(f"downloading {url}", 60):
        actual = _fetch(url, archive, release.sha256)
    if actual != release.sha256:
        archive.unlink()
        rule = f"tools/toolchain/pins.py has {release.sha256}"
        remedy = "Nothing of it was kept. Run this again, or with NOMAD_STATEFUL_TOOLCHAIN=build"
        raise ToolchainError(f"SHA-256 of {release.archive}", actual, rule, remedy)
    target = folder / "bin"
    target.mkdir()
    _unpack(archive, target, files)
    archive.unlink()


def listed_sums(listing: str) -> dict[str, str]:
    """Returns the SHA-256 sums of a publisher's list, by the archive's name."""
    return {name: value.lower() for value, name in _SHA256_LINE.findall(listing)}


def _fetch(url: str, path: Path, sha256: str) -> str:
    """Stores what is at `url` in `path`, after what an earlier run left there; returns its SHA-256."""
    begun = path.stat().st_size if path.exists() else 0
    if begun and file_digest(path) == sha256:
        return sha256
    try:
        with _open(url, _STALL_TIMEOUT_S, begun=begun) as answer:
            resumed = answer.status == http.client.PARTIAL_CONTENT
            with path.open("ab" if resumed else "wb") as file:
                while block := answer.read(_BLOCK):
                    file.write(block)
            if answer.length:
                raise http.client.IncompleteRead(b"", answer.length)
    except UnreachableError:
        if begun and path.stat().st_size == begun:
            # Nothing follows on this: the next run starts anew.
            path.unlink()
        raise
    return file_digest(path)


@contextmanager
def _open(url: str, timeout_s: float, method: str = "GET", begun: int = 0) -> Iterator[http.client.HTTPResponse]:
    started = time.monotonic()
    wanted = {"Range": f"bytes={begun}-"} if begun else {}
    request = urllib.request.Request(url, headers=wanted, method=method)  # noqa: S310 - the URLs are ours
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310 - as above
            yield answer
    except (OSError, http.client.HTTPException) as error:
        # A refused request, a name that does not resolve, a proxy's certificate, a connection cut half-way.
        reason = str(_cause(error)) or type(error).__name__
        value = f"{reason} after {time.monotonic() - started:.1f} s"
        raise UnreachableError(url, value, "it must be reachable to be downloaded", "Check network and proxy") from None


def _cause(error: Exception) -> object:
    """What is behind an error that only says that opening failed; an answer of the server speaks for itself."""
    if isinstance(error, urllib.error.HTTPError):
        return error
    return error.reason if isinstance(error, urllib.error.URLError) else error


def _unpack(archive: Path, target: Path, files: frozenset[str]) -> None:
    """Takes files by their names, in whatever folder of the archive they are; links and paths are not followed."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                name = Path(entry.filename).name
                if name in files and not entry.is_dir():
                    with packed.open(entry) as source:
                        _store(source, target / name)
        return
    with tarfile.open(archive) as packed_tar:
        for member in packed_tar:
            name = Path(member.name).name
            content = packed_tar.extractfile(member) if name in files and member.isreg() else None
            if content is not None:
                _store(content, target / name)


def _store(source: IO[bytes], path: Path) -> None:
    with path.open("wb") as file:
        while block := source.read(_BLOCK):
            file.write(block)
    path.chmod(0o755)
