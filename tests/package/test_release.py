"""The files of a release, made as `make release` does."""

import json
import os
import re
import subprocess
import tarfile
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from nomad_stateful.version import VERSION
from tests.package.conftest import run
from tools import toolchain
from tools.release import files
from tools.wheel import TOP


def test_two_builds_of_a_commit_are_the_same_and_the_sums_are_theirs(tmp_path: Path) -> None:
    def image(folder: Path) -> None:
        (folder / "agent.tar").write_bytes(b"the agent's image")

    sums = files.make(tmp_path / "one", image=image)
    assert files.make(tmp_path / "two", image=image) == sums
    assert sums.pop("agent.tar") == sha256(b"the agent's image").hexdigest()
    subprocess.run(["sha256sum", "--check", "--strict", files.SUMS], cwd=tmp_path / "one", check=True)
    platforms = ("darwin-amd64", "darwin-arm64", "linux-amd64", "linux-arm64")
    archives = {f"pulumi-resource-nomad-csi-v{VERSION}-{one}.tar.gz" for one in platforms}
    wheel = f"nomad_stateful-{VERSION}-py3-none-any.whl"
    own = {wheel, f"nomad_stateful-{VERSION}.tar.gz", "notes.md", "requirements.txt", "schema.json"}
    own.add(f"nomad_stateful_sandbox-{VERSION}-py3-none-any.whl")
    assert set(sums) == archives | own
    with tarfile.open(tmp_path / "one" / min(archives)) as tar:
        starts = {"PulumiPlugin.yaml", "__main__.py", "pulumi-resource-nomad-csi"}
        assert set(tar.getnames()) == starts | {"requirements.txt", wheel}
        first = tar.extractfile("requirements.txt")
        assert first is not None
        assert first.readline().decode() == f"./{wheel} --hash=sha256:{sums[wheel]}\n"


def test_the_wheel_has_each_page_that_a_message_names(wheel: Path) -> None:
    named = {
        page
        for path in (TOP / "nomad_stateful").rglob("*.py")
        for page in re.findall(r"(?<![\w/.-])docs/[\w/.-]+\.md", path.read_text(encoding="utf-8"))
    }
    place = f"nomad_stateful-{VERSION}.data/data/share/doc/nomad-stateful"
    with zipfile.ZipFile(wheel) as packed:
        assert {f"{place}/{page}" for page in named} - set(packed.namelist()) == set()
    assert "docs/runbook.md" in named


@pytest.mark.nightly
@pytest.mark.engine
def test_pulumi_installs_the_archive_of_a_mirror_and_starts_it(
    tmp_path: Path, release: Path, mirror: tuple[Path, str]
) -> None:
    found = toolchain.ensure()
    folder, address = mirror
    name = f"pulumi-resource-nomad-csi-v{VERSION}-linux-amd64.tar.gz"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("NOMAD_", "PULUMI_", "PYTHON"))}
    path = f"{found.bin_dir}:{os.environ['PATH']}"
    env = kept | {"PATH": path, "PULUMI_HOME": str(tmp_path / "home"), "PULUMI_SKIP_UPDATE_CHECK": "1"}
    archive = folder / name
    check = ["sha256sum", "--check", "--ignore-missing", str(release / files.SUMS)]

    altered = bytearray((release / name).read_bytes())
    altered[len(altered) // 2] ^= 1
    archive.write_bytes(altered)
    refused = subprocess.run(check, cwd=folder, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (1, f"{name}: FAILED\n")

    archive.write_bytes((release / name).read_bytes())
    subprocess.run(check, cwd=folder, check=True)
    run(["pulumi", "plugin", "install", "resource", "nomad-csi", VERSION, "--server", address], tmp_path, env)
    told = json.loads(run(["pulumi", "package", "get-schema", f"nomad-csi@{VERSION}"], tmp_path, env))
    published = json.loads((release / "schema.json").read_text(encoding="utf-8"))
    assert (told["name"], told["version"]) == ("nomad-csi", VERSION)
    kinds = ("resources", "functions", "types")
    assert {kind: set(told[kind]) for kind in kinds} == {kind: set(published[kind]) for kind in kinds}
