"""Images that are pulled: from Debian's registry on this machine, by their digests, into the store of a sandbox."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2
import pytest

from sandbox.docker import archive, images, layers, machine_daemon, pulled, store, tree
from sandbox.docker.errors import DockerError
from sandbox.docker.image import Image
from sandbox.docker.layers import Layer, Recipe
from sandbox.settings import PulledImage, parse_settings
from tests.ports import unused_port
from tools.packages import find_command
from tools.trial.running import eventually

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.nightly,
    pytest.mark.skipif(not find_command("docker-registry"), reason="not installed (python -m tools.packages --tests)"),
]

FORWARD = Path("/proc/sys/net/ipv4/ip_forward")
_CONFIG = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: "{data}"}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


@dataclass(frozen=True)
class Registry:
    address: str
    data: Path
    image: PulledImage

    def blob(self, digest: str) -> Path:
        """Returns the file of a manifest, configuration or layer."""
        sha = digest.removeprefix("sha256:")
        return self.data / f"docker/registry/v2/blobs/sha256/{sha[:2]}/{sha}/data"


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    layers.root().mkdir(parents=True)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    """A registry with one image in it."""
    address, config = f"127.0.0.1:{unused_port()}", tmp_path / "registry.yml"
    data = tmp_path / "registry"
    config.write_text(_CONFIG.format(data=data, port=address.rpartition(":")[2]), encoding="utf-8")
    words = [find_command("docker-registry") or "", "serve", str(config)]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
        try:
            eventually(lambda: answers(address) or None, 30, "the registry answers")
            digest = push(f"{address}/official/mysql", tmp_path)
            yield Registry(address, data, PulledImage("mysql:9.7", f"{address}/official/mysql@{digest}"))
        finally:
            process.terminate()


def answers(address: str) -> bool:
    try:
        return httpx2.get(f"http://{address}/v2/", trust_env=False).is_success
    except httpx2.TransportError:
        return False


def layer(folder: Path, content: str) -> Layer:
    """Makes a layer with one file in it, as the cache keeps it."""
    (folder / "root").mkdir(parents=True)
    (folder / "root/file").write_text(content)
    (folder / "sha256").write_text(tree.pack(folder / "root", folder / "layer.tar"))
    (folder / "packages").touch()
    return Layer(folder)


def push(repository: str, folder: Path) -> str:
    """Pushes an image and returns the digest of its manifest."""
    archive.write(folder / "pushed.tar", {Image(repository, "1", ()): (layer(folder / "layer", "official"),)})
    nobody = {"X-Registry-Auth": base64.urlsafe_b64encode(b"{}").decode()}
    with machine_daemon.running(folder / "pushing", "machine") as api:
        machine_daemon.load(api, folder / "pushed.tar")
        answer = api.post(f"/images/{repository}/push", params={"tag": "1"}, headers=nobody)
    assert not machine_daemon.refusal(answer)
    said = [json.loads(line) for line in answer.text.splitlines() if line.strip()]
    return str(next(line["aux"]["Digest"] for line in said if "aux" in line))


def built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the sandbox build two images, of a layer that is there already."""
    recipe = Recipe("there")
    layer(layers.root() / f"layer-there-{recipe.key}", "built")
    catalogue = (Image(images.BUSYBOX, "1", (recipe,)), Image("mysql", "9.7", (recipe,)))
    monkeypatch.setattr(images, "catalogue", lambda _parts: catalogue)


def test_an_instance_has_the_image_of_that_digest_under_the_name_that_jobs_ask_for(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(monkeypatch)
    settings = replace(parse_settings({}, tmp_path / "home"), images=(registry.image,))
    kept = store.ensure(settings, None)
    assert kept.names == {"busybox:1": "", registry.image.label: "pulled"}
    data = tmp_path / "instance"
    subprocess.run(["cp", "-a", kept.data, data], check=True)
    for folder in kept.layers.iterdir():
        (data / machine_daemon.DRIVER / folder.name).symlink_to(folder)
    manifest = json.loads(registry.blob(registry.image.reference.partition("@")[2]).read_bytes())
    with machine_daemon.running(data) as api:
        assert api.get("/images/mysql:9.7/json").json()["Id"] == manifest["config"]["digest"]
        assert api.get("/images/busybox:1/json").json()["Id"] != manifest["config"]["digest"]


def test_an_image_is_pulled_once(registry: Registry) -> None:
    first = pulled.ensure(registry.image)
    shutil.rmtree(registry.data)
    assert pulled.ensure(registry.image) == first


def test_a_digest_that_the_registry_does_not_have_is_refused(registry: Registry) -> None:
    other = replace(registry.image, reference=f"{registry.address}/official/mysql@sha256:{'0' * 64}")
    with pytest.raises(DockerError, match=r'images\."mysql:9\.7" .*0000.*(unknown|not found)'):
        pulled.ensure(other)
    assert not list(layers.root().glob("pulled-*"))


@pytest.mark.parametrize("part", ["manifest", "layer"])
def test_content_of_another_digest_is_refused(registry: Registry, part: str) -> None:
    blob = registry.blob(registry.image.reference.partition("@")[2])
    if part == "layer":
        blob = registry.blob(json.loads(blob.read_bytes())["layers"][0]["digest"])
        # The same files, compressed anew: the digest alone tells.
        blob.write_bytes(gzip.compress(gzip.decompress(blob.read_bytes()), mtime=1))
    else:
        blob.write_bytes(blob.read_bytes() + b"\n")
    with pytest.raises(DockerError, match="verification failed"):
        pulled.ensure(registry.image)
    assert not list(layers.root().glob("pulled-*"))


def test_a_registry_that_does_not_answer_is_named_with_what_to_do() -> None:
    address = f"127.0.0.1:{unused_port()}"
    image = PulledImage("mysql:9.7", f"{address}/official/mysql@sha256:{'0' * 64}")
    with pytest.raises(DockerError) as told:
        pulled.ensure(image)
    message = str(told.value)
    assert image.reference in message
    assert f"from {address} failed" in message
    assert "connection refused" in message
    assert "remove that line" in message


def test_pulling_changes_nothing_of_the_machines_network(registry: Registry) -> None:
    before = links(), FORWARD.read_text()
    pulled.ensure(registry.image)
    assert (links(), FORWARD.read_text()) == before


def links() -> list[str]:
    """Returns the bridges of docker's that the machine has."""
    return [path.name for path in Path("/sys/class/net").glob("docker*")]
