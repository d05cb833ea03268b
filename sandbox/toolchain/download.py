"""The publishers' official releases: fetched, checked against the publisher's own list of checksums, unpacked."""

from __future__ import annotations

import hashlib
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

from sandbox.toolchain import progress
from sandbox.toolchain.errors import ToolchainError, UnreachableError

_CONNECT_TIMEOUT_S = 3.0
_STALL_TIMEOUT_S = 30.0
_BLOCK = 1 << 20
_SHA256_LINE: Final = re.compile(r"^([0-9a-fA-F]{64})\s+\*?(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Release:
    """Where a publisher keeps the archive of a version, with its list of SHA-256 sums beside it."""

    base_url: str
    archive: str
    checksums: str

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
        return Release(base, archive, f"pulumi-{version}-checksums.txt")
    if component == "nomad":
        base = f"https://releases.hashicorp.com/nomad/{version}"
        return Release(base, f"nomad_{version}_linux_{machine}.zip", f"nomad_{version}_SHA256SUMS")
    return None


def download_release(release: Release, folder: Path) -> None:
    """Fetch the archive, verify it and unpack its programs into `folder`/bin."""
    expected = _expected_sum(release)
    archive = folder.parent / release.archive
    with progress.step(f"downloading {release.url(release.archive)}", 60):
        actual = _fetch(release.url(release.archive), archive)
    if actual != expected:
        archive.unlink()
        rule = f"the publisher's {release.checksums} says {expected}"
        raise ToolchainError(f"SHA-256 of {release.archive}", actual, rule, "Nothing of it was kept; run this again")
    target = folder / "bin"
    target.mkdir()
    _unpack(archive, target)


def _expected_sum(release: Release) -> str:
    with _open(release.url(release.checksums), _CONNECT_TIMEOUT_S) as answer:
        listing = answer.read(_BLOCK).decode("ascii", "replace")
    sums = listed_sums(listing)
    if release.archive not in sums:
        rule = f"it must list {release.archive}"
        raise UnreachableError(release.url(release.checksums), "no such line", rule, "Another way is tried")
    return sums[release.archive]


def listed_sums(listing: str) -> dict[str, str]:
    """Returns the SHA-256 sums of a publisher's list, by the archive's name."""
    return {name: value.lower() for value, name in _SHA256_LINE.findall(listing)}


def _fetch(url: str, path: Path) -> str:
    """Store what is at `url` in `path`; returns its SHA-256."""
    total = hashlib.sha256()
    with _open(url, _STALL_TIMEOUT_S) as answer, path.open("wb") as file:
        while block := answer.read(_BLOCK):
            total.update(block)
            file.write(block)
    return total.hexdigest()


@contextmanager
def _open(url: str, timeout_s: float) -> Iterator[IO[bytes]]:
    started = time.monotonic()
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:  # noqa: S310 - the URLs are ours
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


def _unpack(archive: Path, target: Path) -> None:
    """Take the files that sit at the top of the archive or in its one folder; links and paths are not followed."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                if not entry.is_dir():
                    with packed.open(entry) as source:
                        _store(source, target / Path(entry.filename).name)
        return
    with tarfile.open(archive) as packed_tar:
        for member in packed_tar:
            content = packed_tar.extractfile(member) if member.isreg() else None
            if content is not None:
                _store(content, target / Path(member.name).name)


def _store(source: IO[bytes], path: Path) -> None:
    with path.open("wb") as file:
        while block := source.read(_BLOCK):
            file.write(block)
    path.chmod(0o755)
