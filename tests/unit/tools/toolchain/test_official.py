import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from tools.toolchain import official
from tools.toolchain.errors import ToolchainError
from tools.toolchain.pins import RELEASE_SUMS

NAME, VERSION = "pulumi-resource-nomad", "2.6.1"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def put_archive(folder: Path, name: str = "", members: dict[str, bytes] | None = None) -> Path:
    """A release archive with a list of sums beside it."""
    folder.mkdir(exist_ok=True)
    archive = folder / (name or official.archive_name(NAME, VERSION))
    with tarfile.open(archive, "w:gz") as packed:
        for member, content in (members or {"LICENSE": b"text", NAME: b"#!/bin/sh\n"}).items():
            info = tarfile.TarInfo(member)
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    total = hashlib.sha256(archive.read_bytes()).hexdigest()
    (folder / "SHA256SUMS").write_text(f"{total}  ./{archive.name}\n", encoding="ascii")
    return archive


def test_a_program_of_the_folder_is_unpacked_into_the_cache_once(tmp_path: Path) -> None:
    put_archive(tmp_path / "parts")
    program = official.take(tmp_path / "parts", NAME, VERSION)
    assert program is not None
    assert program.read_bytes() == b"#!/bin/sh\n"
    assert program.stat().st_mode & 0o111
    assert program.is_relative_to(tmp_path / "cache/nomad-stateful/official")
    changed = program.stat().st_mtime_ns
    assert official.take(tmp_path / "parts", NAME, VERSION) == program
    assert program.stat().st_mtime_ns == changed


def test_a_program_that_the_folder_has_no_archive_of_is_left_to_other_ways(tmp_path: Path) -> None:
    put_archive(tmp_path / "parts")
    assert official.take(tmp_path / "parts", "pulumi-resource-aws", "7.51.1") is None


def test_a_folder_that_is_missing_or_holds_nothing_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"OFFICIAL is '.*gone': there is no such folder\. Name"):
        official.require(tmp_path / "gone")
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        ToolchainError, match=r"it holds no release archive of pulumi-resource-nomad.*Put archives there"
    ):
        official.require(tmp_path / "empty")


@pytest.mark.parametrize("name", [f"{NAME}-v2.5.0-linux-amd64.tar.gz", f"{NAME}-v{VERSION}-linux-riscv64.tar.gz"])
def test_an_archive_of_another_version_or_machine_is_refused_by_name(tmp_path: Path, name: str) -> None:
    put_archive(tmp_path / "parts", name)
    with pytest.raises(ToolchainError, match=f"it holds {name} only. Put {official.archive_name(NAME, VERSION)} there"):
        official.take(tmp_path / "parts", NAME, VERSION)


def test_an_archive_that_nothing_vouches_for_is_refused(tmp_path: Path) -> None:
    archive = put_archive(tmp_path / "parts")
    (archive.parent / "SHA256SUMS").unlink()
    with pytest.raises(ToolchainError, match=r"SHA-256 of .*no list of SHA-256 sums beside it.*put a list"):
        official.take(tmp_path / "parts", NAME, VERSION)


def test_a_list_of_other_sums_vouches_for_nothing(tmp_path: Path) -> None:
    archive = put_archive(tmp_path / "parts")
    (archive.parent / "SHA256SUMS").unlink()
    total = hashlib.sha1(archive.read_bytes(), usedforsecurity=False).hexdigest()
    (archive.parent / "pulumi-nomad_2.6.1_checksums.txt").write_text(f"{total}  ./{archive.name}\n", encoding="ascii")
    with pytest.raises(ToolchainError, match="no list of SHA-256 sums beside it"):
        official.take(tmp_path / "parts", NAME, VERSION)


def test_a_pinned_sum_counts_more_than_the_list_beside_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = put_archive(tmp_path / "parts")
    monkeypatch.setitem(RELEASE_SUMS, archive.name, "0" * 64)
    with pytest.raises(ToolchainError, match=r"pins\.py says 0{64}"):
        official.take(tmp_path / "parts", NAME, VERSION)
    monkeypatch.setitem(RELEASE_SUMS, archive.name, hashlib.sha256(archive.read_bytes()).hexdigest())
    (archive.parent / "SHA256SUMS").unlink()
    assert official.take(tmp_path / "parts", NAME, VERSION)


def test_an_archive_that_differs_from_its_published_sum_is_refused(tmp_path: Path) -> None:
    archive = put_archive(tmp_path / "parts")
    archive.write_bytes(archive.read_bytes() + b"\0")
    with pytest.raises(ToolchainError, match=r"SHA256SUMS says [0-9a-f]{64}"):
        official.take(tmp_path / "parts", NAME, VERSION)


def test_an_archive_without_the_program_leaves_nothing_in_the_cache(tmp_path: Path) -> None:
    put_archive(tmp_path / "parts", members={"README": b"text"})
    with pytest.raises(ToolchainError, match="it does not hold the program"):
        official.take(tmp_path / "parts", NAME, VERSION)
    assert list((tmp_path / "cache/nomad-stateful/official").glob("[!.]*")) == []


def test_an_archive_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    archive = put_archive(tmp_path / "parts")
    archive.write_bytes(archive.read_bytes()[:40])
    total = hashlib.sha256(archive.read_bytes()).hexdigest()
    (archive.parent / "SHA256SUMS").write_text(f"{total}  {archive.name}\n", encoding="ascii")
    with pytest.raises(ToolchainError, match=r"it cannot be unpacked: .*Fetch it again"):
        official.take(tmp_path / "parts", NAME, VERSION)
