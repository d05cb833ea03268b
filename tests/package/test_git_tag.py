"""`pulumi package add` of a tag of this repository, from a git server, where nothing else can be reached."""

import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from nomad_stateful.version import VERSION
from tests.certificates import Authority
from tests.package.conftest import run
from tests.package.git_server import serving
from tests.sandbox.networks import Network, network
from tools import toolchain
from tools.toolchain.onpath import version_of
from tools.toolchain.versions import Version
from tools.wheel import LOCK, TOP, requirements

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nightly]

_TAG = f"https://127.0.0.1/infra/nomad-stateful.git/package@v{VERSION}"
_TAKES_LINKS = Version(3, 247)
"""The first Pulumi that installs a repository with symbolic links (pulumi/pulumi#23587)."""


@pytest.fixture
def repositories(tmp_path: Path) -> Path:
    """The commit that is tested, and its tag, without a work tree."""
    folder = tmp_path / "repositories"
    bare = folder / "infra/nomad-stateful.git"
    run(["git", "clone", "--quiet", "--bare", TOP, bare], tmp_path)
    run(["git", "-C", bare, "tag", "--force", f"v{VERSION}", "HEAD"], tmp_path)
    return folder


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """What the plugin needs besides: its packages and pip's own, and the plugins that they name."""
    folder = tmp_path / "mirror"
    requirements(tmp_path)
    fetch: list[str | Path] = [TOP / ".venv/bin/python", "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder]
    run([*fetch, "-r", tmp_path / "requirements.txt"], tmp_path)
    run([*fetch, "-r", LOCK], tmp_path)
    run([*fetch, "pip", "setuptools", "wheel"], tmp_path)
    for name, version in (("aws", "7.51.1"), ("nomad", "2.6.1")):
        (tmp_path / f"pulumi-resource-{name}").write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / f"pulumi-resource-{name}").chmod(0o755)
        place = folder / f"pulumi-{name}"
        place.mkdir()
        with tarfile.open(place / f"pulumi-resource-{name}-v{version}-linux-amd64.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / f"pulumi-resource-{name}", f"pulumi-resource-{name}")
    return folder


@pytest.fixture
def alone(tmp_path: Path, repositories: Path, mirror: Path) -> Iterator[tuple[Network, Path]]:
    """A network without a route, which has the two servers, and the certificate of the one who vouches for them."""
    authority = Authority.made(tmp_path / "authority")
    with network(f"tag{os.getpid()}") as net, serving(net, repositories, mirror, authority):
        yield net, authority.folder / "ca.pem"


def test_a_tag_is_added_by_each_pulumi_that_takes_links_and_refused_by_an_older_one(
    tmp_path: Path, alone: tuple[Network, Path], mirror: Path
) -> None:
    net, certificate = alone
    found = toolchain.ensure()
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "NOMAD_", "PULUMI_", "PYTHON"))
    }
    env = kept | {
        "PATH": f"{found.bin_dir}:{os.environ['PATH']}",
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_SKIP_UPDATE_CHECK": "1",
        "PULUMI_BACKEND_URL": f"file://{tmp_path}",
        "PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES": "^github://api.github.com/pulumi/(?P<repo>[^/]+)=http://127.0.0.1/${repo}",
        "SSL_CERT_FILE": str(certificate),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(mirror),
    }
    project = tmp_path / "consumer"
    project.mkdir()
    (project / "Pulumi.yaml").write_text("name: consumer\nruntime: {name: python, options: {virtualenv: venv}}\n")
    (project / "requirements.txt").touch()
    command = ["ip", "netns", "exec", net.name, "pulumi", "package", "add", _TAG]
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    version = version_of(found.pulumi)
    assert version is not None
    if version < _TAKES_LINKS:
        assert "unexpected plugin file type nomad_stateful/components (50)" in said
        return
    assert done.returncode == 0, said
    assert (project / "sdks/infra-nomad-csi").is_dir()
    settings = yaml.safe_load((project / "Pulumi.yaml").read_text())
    assert settings["packages"] == {"nomad-csi": _TAG.removeprefix("https://")}
