"""What images are made of is verified before it is run: Debian's signature, the hashes of Python's packages."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from sandbox.docker import layers, python_packages
from sandbox.docker.errors import DockerError
from sandbox.docker.layers import Recipe
from tools import locked_packages, packages

FAKE = """\
#!/bin/sh
printf '%s\\n' "$@" "tmpdir=${{TMPDIR-none}}" >{record}
exit 1
"""


def test_debians_packages_are_not_unpacked_without_its_signature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, fake = tmp_path / "arguments", tmp_path / "debootstrap"
    fake.write_text(FAKE.format(record=record), encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    layers.root().mkdir(parents=True)
    with pytest.raises(DockerError, match="debootstrap"):
        layers.build(Recipe("base", packages=("ca-certificates",)))
    arguments = record.read_text(encoding="utf-8").split()
    assert "--force-check-gpg" in arguments
    assert f"--keyring={packages.DEBIAN_KEYRING}" in arguments
    assert "tmpdir=none" in arguments


def test_the_keys_that_verify_it_are_installed_where_only_the_program_is_there(tmp_path: Path) -> None:
    wanted = packages.Requirement(("sh",), ("keys",), "a test", files=(str(tmp_path / "keyring.gpg"),))
    assert packages.missing([wanted]) == [wanted]
    (tmp_path / "keyring.gpg").touch()
    assert packages.missing([wanted]) == []
    assert [item for item in packages.SANDBOX if packages.DEBIAN_KEYRING in item.files]


def _wheel(folder: Path, pin: str) -> None:
    """A package of another making, under the name and version of one that is wanted."""
    name, _, version = pin.partition("==")
    stem = f"{name.replace('-', '_')}-{version}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{stem}.dist-info/RECORD", "")


def test_a_python_package_of_another_making_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, base, layer = tmp_path / "index", tmp_path / "base", tmp_path / "layer"
    (base / "usr/lib/python3.13").mkdir(parents=True)
    index.mkdir()
    for line in locked_packages.pins(python_packages.STAND_INS).splitlines():
        if "==" in line:
            _wheel(index, line.split()[0])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    with pytest.raises(DockerError, match=r"(?i)hash|sha256"):
        python_packages.install(python_packages.STAND_INS, layer, base)
    assert not list(layer.rglob("*.dist-info"))
