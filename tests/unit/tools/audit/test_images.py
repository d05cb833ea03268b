"""What the audit says of images: what is not listed, and tags that stand for something else by now."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_nomad.server import Reply, Request, serving
from tools.audit import images
from tools.audit.images import Listed

HERE, OTHER = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"


def registry(request: Request) -> Reply:
    """Has one image, for those who fetched a token first."""
    headers = request.headers
    if request.method == "GET":
        return Reply(200 if request.path == "/token?service=s&scope=pull" else 404, {"token": "everybody"})
    if headers.get("Authorization") != "Bearer everybody":
        realm = f'Bearer realm="http://{headers["Host"]}/token",service="s",scope="pull"'
        return Reply(401, "", headers={"WWW-Authenticate": realm})
    if request.path == "/v2/library/mysql/manifests/8.4.6" and "index" in headers["Accept"]:
        return Reply(200, "", headers={"Docker-Content-Digest": HERE})
    return Reply(404, "")


@pytest.fixture
def registries() -> Iterator[dict[str, str]]:
    with serving(registry) as address:
        yield {"docker.io": address, "public.ecr.aws": address, "gone.example": "http://127.0.0.1:9"}


def test_every_default_image_is_listed_with_a_digest_or_a_reason() -> None:
    assert images.listed(images.defaults())[1] == []


def test_an_image_that_is_not_listed_or_not_in_order_is_named(tmp_path: Path) -> None:
    path = tmp_path / "images.toml"
    path.write_text(f'["old:1"]\nunknown = "x"\n["bare:1"]\n["short:1"]\ndigest = "{HERE}"\n')
    assert images.listed(["new:1", "bare:1", "short:1"], path)[1] == [
        "images.toml: new:1 runs by default and is not listed",
        "images.toml: old:1 is no default any more: take it off",
        "images.toml: bare:1 has neither a digest nor a reason in `unknown`",
        "images.toml: short:1 needs a digest sha256:…, and its source",
    ]


def test_a_tag_that_moved_is_named_and_what_no_registry_tells_is_missing(registries: dict[str, str]) -> None:
    same, other = Listed("mysql:8.4.6", HERE), Listed("mysql:8.4.6", OTHER)
    unknown = Listed("mysql:9", "")
    assert images.moved([same, unknown], registries) == ([], [])
    complaints, missing = images.moved(
        [other, Listed("public.ecr.aws/a/b:1", HERE), Listed("gone.example/c:1", HERE)], registries
    )
    assert complaints == [f"images.toml: mysql:8.4.6 is {HERE} in its registry, and was {OTHER}"]
    assert [line.partition(": not looked up")[0] for line in missing] == ["public.ecr.aws/a/b:1", "gone.example/c:1"]
