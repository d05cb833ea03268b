"""Where the packages of images come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.docker import layers, mirror
from sandbox.docker.errors import DockerError
from sandbox.docker.layers import Recipe

DEBIAN = "https://debian.company.example/debian/ Debian/Debian"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of commands that come before the machine's own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.delenv(mirror.VARIABLE, raising=False)
    return folder


def command(path: Path, name: str, body: str) -> None:
    (path / name).write_text(f"#!/bin/sh\n{body}\n")
    (path / name).chmod(0o755)


def apt_knows(path: Path, *sources: str) -> None:
    command(path, "apt-get", "cat <<'END'\n" + "".join(f"{one}\n" for one in sources) + "END")


def test_it_is_the_mirror_of_debian_that_apt_has(path: Path) -> None:
    security = "https://debian.company.example/debian-security/ Debian/Debian-Security"
    apt_knows(path, "https://other.example/apt/ Other/Other", security, DEBIAN)
    assert mirror.debian("sid") == "https://debian.company.example/debian"


def test_one_that_is_named_comes_first(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apt_knows(path, DEBIAN)
    monkeypatch.setenv(mirror.VARIABLE, "http://mine.example/debian/")
    assert mirror.debian("sid") == "http://mine.example/debian"


@pytest.mark.parametrize("source", ["http://ubuntu.example/ubuntu/ Ubuntu/Ubuntu", "http://debian.example/debian/ /"])
def test_without_a_source_of_debians_it_has_to_be_named(path: Path, source: str) -> None:
    apt_knows(path, source)
    with pytest.raises(DockerError, match=rf"{mirror.VARIABLE} is '': .*suite sid.*Name a mirror.*apt-get update"):
        mirror.debian("sid")


def test_a_mirror_without_the_suite_is_told_with_what_to_do(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt_knows(path, DEBIAN)
    command(path, "debootstrap", 'eval "address=\\${$#}"; echo "E: Failed getting release file $address/x"; exit 1')
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    layers.root().mkdir(parents=True)
    with pytest.raises(DockerError) as told:
        layers.build(Recipe("base", packages=("ca-certificates",)))
    assert "Failed getting release file https://debian.company.example/debian/x" in str(told.value)
    assert f"must have suite sid. Name a mirror of Debian that has it: {mirror.VARIABLE}=" in str(told.value)
