"""Official releases: taken only when they are what the publisher says they are."""

from __future__ import annotations

import hashlib
import io
import socket
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from tools.toolchain import csi_proto_dir, ensure, provide
from tools.toolchain.download import Release, download_release, official_release
from tools.toolchain.errors import ToolchainError, UnreachableError
from tools.toolchain.pins import NOMAD, NOMAD_2, PULUMI, RELEASE_SUMS
from tools.toolchain.provide import fetch

NOMAD_SCRIPT = f"#!/bin/sh\necho Nomad v{NOMAD.download_version}\n".encode()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def published(tmp_path: Path) -> Path:
    folder = tmp_path / "published"
    folder.mkdir()
    return folder


@pytest.fixture
def base_url(published: Path) -> Iterator[str]:
    """A publisher's server that serves the folder `published`."""
    with serving(partial(QuietHandler, directory=str(published))) as url:
        yield url


@contextmanager
def serving(handler: Callable[..., QuietHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def publish_nomad(folder: Path, content: bytes = NOMAD_SCRIPT, extra: str = "", name: str = "nomad.zip") -> str:
    """Puts an archive on the server; its SHA-256."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("LICENSE.txt", "text")
        archive.writestr("nomad", content)
        if extra:
            archive.writestr(extra, "x")
    data = packed.getvalue()
    (folder / name).write_bytes(data)
    total = hashlib.sha256(data).hexdigest()
    (folder / "nomad_SHA256SUMS").write_text(f"{total}  {name}\n")
    return total


def nomad_release(base_url: str, sha256: str) -> Release:
    return Release(base_url, "nomad.zip", sha256)


def test_a_zip_release_is_unpacked_into_the_cache(toolchain_root: Path, published: Path, base_url: str) -> None:
    program = fetch(NOMAD, nomad_release(base_url, publish_nomad(published)))
    assert program.read_bytes() == NOMAD_SCRIPT
    assert toolchain_root in program.parents


def publish_pulumi(path: Path, *names: str) -> str:
    """Puts an archive in the layout of Pulumi's releases on the server; its SHA-256."""
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            content = f"#!/bin/sh\necho v{PULUMI.download_version}\n".encode()
            entry = tarfile.TarInfo(f"pulumi/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_of_a_tar_release_what_python_programs_need_is_kept(
    toolchain_root: Path, published: Path, base_url: str
) -> None:
    python = ("pulumi", "pulumi-language-python", "pulumi-language-python-exec", "pulumi-resource-pulumi-python")
    total = publish_pulumi(published / "pulumi.tar.gz", *python, "pulumi-language-nodejs", "pulumi-watch")
    program = fetch(PULUMI, Release(base_url, "pulumi.tar.gz", total))
    assert sorted(path.name for path in program.parent.iterdir()) == list(python)


def test_an_archive_without_the_language_host_is_refused(toolchain_root: Path, published: Path, base_url: str) -> None:
    total = publish_pulumi(published / "pulumi.tar.gz", "pulumi")
    with pytest.raises(ToolchainError, match="without pulumi-language-python"):
        fetch(PULUMI, Release(base_url, "pulumi.tar.gz", total))
    assert list(toolchain_root.iterdir()) == []


def test_where_the_publishers_answer_nothing_is_built(
    toolchain_root: Path, path_folder: Path, published: Path, base_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def from_here(component: str, version: str) -> Release | None:
        found = official_release(component, version)
        return found and replace(found, base_url=base_url, sha256=sums[found.archive])

    releases = [official_release("pulumi", PULUMI.download_version), official_release("nomad", NOMAD.download_version)]
    pulumi, nomad = (one.archive for one in releases if one)
    sums = {pulumi: publish_pulumi(published / pulumi, "pulumi", "pulumi-language-python")}
    sums[nomad] = publish_nomad(published, name=nomad)
    monkeypatch.setattr(provide, "official_release", from_here)
    monkeypatch.delenv(provide.NOMAD_VARIABLE, raising=False)
    csi_proto_dir().mkdir()
    toolchain = ensure()
    assert toolchain.said() == f"pulumi {PULUMI.download_version} downloaded, nomad {NOMAD.download_version} downloaded"
    assert (toolchain.bin_dir / "pulumi-language-python").is_file()


def test_an_archive_that_was_replaced_together_with_its_list_is_refused_and_not_kept(
    toolchain_root: Path, published: Path, base_url: str
) -> None:
    pinned = publish_nomad(published)
    replaced = publish_nomad(published, content=NOMAD_SCRIPT + b"do-something-else\n")
    assert replaced in (published / "nomad_SHA256SUMS").read_text()
    with pytest.raises(ToolchainError, match=r"SHA-256 of nomad\.zip") as refusal:
        fetch(NOMAD, nomad_release(base_url, pinned))
    assert not isinstance(refusal.value, UnreachableError)
    assert list(toolchain_root.iterdir()) == []


def test_an_archive_whose_sum_nobody_pinned_is_not_fetched(published: Path, base_url: str, tmp_path: Path) -> None:
    publish_nomad(published)
    with pytest.raises(UnreachableError, match="its SHA-256 is not pinned"):
        download_release(nomad_release(base_url, ""), tmp_path / "made", NOMAD.files)
    assert list(tmp_path.glob("nomad.zip")) == []


def test_what_is_downloaded_is_pinned_for_both_kinds_of_machine() -> None:
    names = {f"nomad_{one.version}_linux_{machine}.zip" for machine in ("amd64", "arm64") for one in (NOMAD, NOMAD_2)}
    names |= {f"pulumi-v{PULUMI.download_version}-linux-{machine}.tar.gz" for machine in ("x64", "arm64")}
    assert names <= RELEASE_SUMS.keys(), "a new version needs new sums"


def test_a_program_of_another_version_is_refused(toolchain_root: Path, published: Path, base_url: str) -> None:
    total = publish_nomad(published, content=b"#!/bin/sh\necho Nomad v1.11.2\n")
    with pytest.raises(ToolchainError, match=r"it must say 2\.0\.5"):
        fetch(NOMAD, nomad_release(base_url, total))
    assert list(toolchain_root.iterdir()) == []


def test_names_in_an_archive_cannot_leave_the_target(toolchain_root: Path, published: Path, base_url: str) -> None:
    total = publish_nomad(published, extra="../../nomad/../../outside")
    program = fetch(NOMAD, nomad_release(base_url, total))
    assert [path.name for path in program.parent.iterdir()] == ["nomad"]
    assert list(toolchain_root.parent.rglob("outside")) == []


def test_a_server_that_is_not_there_is_unreachable_and_not_an_error_of_ours(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(UnreachableError, match="Connection refused"):
            download_release(nomad_release(url, "0" * 64), tmp_path / "made", NOMAD.files)


class CuttingHandler(QuietHandler):
    """Sends half of an archive the first time, and the rest when it is asked for that."""

    asked: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        content = Path(self.translate_path(self.path)).read_bytes()
        wanted = self.headers["Range"]
        self.asked.append(wanted)
        begun = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(content) - begun))
        self.end_headers()
        self.wfile.write(content[begun:] if wanted else content[: len(content) // 2])


def test_a_download_that_was_cut_goes_on_where_it_ended(toolchain_root: Path, published: Path) -> None:
    total = publish_nomad(published)
    half = (published / "nomad.zip").stat().st_size // 2
    with serving(partial(CuttingHandler, directory=str(published))) as url:
        with pytest.raises(UnreachableError):
            fetch(NOMAD, nomad_release(url, total))
        assert fetch(NOMAD, nomad_release(url, total)).read_bytes() == NOMAD_SCRIPT
    assert CuttingHandler.asked == [None, f"bytes={half}-"]
    assert list(toolchain_root.glob(".part-*")) == []


def test_a_version_that_was_never_published_is_unreachable(base_url: str, tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="HTTP Error 404"):
        download_release(nomad_release(base_url, "0" * 64), tmp_path / "made", NOMAD.files)
