"""What the audit says of images: what is not listed, and tags that stand for something else by now."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tools.audit import images
from tools.audit.images import Listed

HERE, OTHER = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"


class Registry(BaseHTTPRequestHandler):
    """Has one image, for those who fetched a token first."""

    def do_HEAD(self) -> None:
        host = self.headers["Host"]
        if self.headers.get("Authorization") != "Bearer everybody":
            self.send_response(401)
            self.send_header("WWW-Authenticate", f'Bearer realm="http://{host}/token",service="s",scope="pull"')
        elif self.path == "/v2/library/mysql/manifests/8.4.6" and "index" in self.headers["Accept"]:
            self.send_response(200)
            self.send_header("Docker-Content-Digest", HERE)
        else:
            self.send_response(404)
        self.end_headers()

    def do_GET(self) -> None:
        body = json.dumps({"token": "everybody"}).encode()
        self.send_response(200 if self.path == "/token?service=s&scope=pull" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def registries() -> Iterator[dict[str, str]]:
    with HTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        address = f"http://127.0.0.1:{server.server_port}"
        yield {"docker.io": address, "public.ecr.aws": address, "gone.example": "http://127.0.0.1:9"}
        server.shutdown()


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
