"""The files of a release, made as `make release` does."""

import subprocess
import tarfile
from pathlib import Path

from nomad_stateful.version import VERSION
from tools.release import files


def test_two_builds_of_a_commit_are_the_same_and_the_sums_are_theirs(tmp_path: Path) -> None:
    sums = files.make(tmp_path / "one")
    assert files.make(tmp_path / "two") == sums
    subprocess.run(["sha256sum", "--check", "--strict", files.SUMS], cwd=tmp_path / "one", check=True)
    platforms = ("darwin-amd64", "darwin-arm64", "linux-amd64", "linux-arm64")
    archives = {f"pulumi-resource-nomad-stateful-v{VERSION}-{one}.tar.gz" for one in platforms}
    wheel = f"nomad_stateful-{VERSION}-py3-none-any.whl"
    own = {wheel, f"nomad_stateful-{VERSION}.tar.gz", "notes.md", "requirements.txt", "schema.json"}
    own.add(f"nomad_stateful_sandbox-{VERSION}-py3-none-any.whl")
    assert set(sums) == archives | own
    with tarfile.open(tmp_path / "one" / min(archives)) as tar:
        assert set(tar.getnames()) == {"PulumiPlugin.yaml", "__main__.py", "requirements.txt", wheel}
        first = tar.extractfile("requirements.txt")
        assert first is not None
        assert first.readline().decode() == f"./{wheel} --hash=sha256:{sums[wheel]}\n"
