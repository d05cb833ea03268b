"""What the audit complains about, and what it says when it cannot ask."""

import json
import threading
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tools.audit import indexes, installed, pins, vulnerabilities
from tools.audit.pins import Pin

HASH = f"--hash=sha256:{'0' * 64}"


def pin(name: str = "example", version: str = "1.0", **more: Any) -> Pin:
    return Pin("PyPI", name, version, "requirements.lock", hashed=True, **more)


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "requirements.lock"


def test_a_line_without_a_version_or_a_hash_is_refused(lock: Path) -> None:
    lock.write_text(f"good==1.0 ; python_version > '3' \\\n    {HASH}\n# a comment\nloose>=1\nbare==2.0\n")
    found, complaints = pins.python(lock)
    assert [one.name for one in found] == ["good", "bare"]
    assert complaints == [f"{lock}: `loose>=1` is not pinned to one version"]
    assert pins.complaints(found) == [f"{lock}: bare 2.0 has no hash"]


def test_an_npm_package_without_integrity_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "package-lock.json"
    entry = {"version": "1.0.0", "license": "MIT"}
    whole = {**entry, "integrity": f"sha512-{'A' * 86}=="}
    local = {"link": True}
    packages = {"": {}, "node_modules/a": whole, "node_modules/a/node_modules/b": entry, "node_modules/c": local}
    path.write_text(json.dumps({"packages": packages}))
    assert pins.complaints(pins.npm(path)) == [f"{path}: b 1.0.0 has no hash"]


def test_a_go_module_that_go_sum_does_not_know_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "go.mod"
    path.write_text(
        "module x\nreplace a.b/old => a.b/new v9.0.0\nrequire (\n\ta.b/c v1.0.0\n\ta.b/d v2.0.0 // indirect\n"
    )
    with path.open("a") as file:
        file.write("\ta.b/old v1.0.0\n)\n")
    (tmp_path / "go.sum").write_text("a.b/c v1.0.0 h1:x=\na.b/d v2.0.0/go.mod h1:x=\n")
    assert pins.complaints(pins.go(path)) == [f"{path}: a.b/d 2.0.0 has no hash"]


def test_an_environment_that_is_not_what_the_lock_says_is_refused() -> None:
    exact = [pin(name, version) for name, version in installed_versions().items()]
    assert installed.differences(exact) == []
    said = "\n".join(installed.differences([*exact[1:], pin("missing"), pin("other", marker="sys_platform == 'none'")]))
    assert "which is not in the lock" in said
    assert ".venv holds missing not at all, the lock 1.0" in said
    assert "other" not in said


def installed_versions() -> dict[str, str]:
    from importlib import metadata

    from packaging.utils import canonicalize_name

    found = {canonicalize_name(one.metadata["Name"]): one.version for one in metadata.distributions()}
    return {name: version for name, version in found.items() if name not in installed.OF_THE_ENVIRONMENT}


@pytest.mark.parametrize("licence", ["AGPL-3.0-or-later", "", "MIT AND GPL-3.0", "SEE LICENSE IN LICENSE"])
def test_a_licence_that_is_not_on_the_list_is_refused(licence: str) -> None:
    assert len(installed.unlisted({"example": licence})) == 1


@pytest.mark.parametrize("licence", ["MIT", "(MIT OR GPL-2.0)", "Apache-2.0 AND CNRI-Python"])
def test_a_licence_on_the_list_is_taken(licence: str) -> None:
    assert installed.unlisted({"example": licence}) == []


class Service(BaseHTTPRequestHandler):
    """Knows one vulnerability, of example 1.0."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        hits = [one["package"]["name"] == "example" and one["version"] == "1.0" for one in asked]
        body = json.dumps({"results": [{"vulns": [{"id": "GHSA-1"}]} if hit else {} for hit in hits]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def service() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_known_vulnerability_is_named_with_its_package(service: str) -> None:
    found = vulnerabilities.look_up([pin("fine"), pin(), pin(version="1.1")], service)
    assert list(map(str, found)) == ["requirements.lock: example 1.0 has the known vulnerability GHSA-1"]


def test_a_service_that_does_not_answer_is_named() -> None:
    with pytest.raises(vulnerabilities.NotLookedUp, match=r"127\.0\.0\.1:9 unreachable"):
        vulnerabilities.look_up([pin()], "http://127.0.0.1:9")


def test_what_is_accepted_needs_a_reason_and_ends(tmp_path: Path) -> None:
    path = tmp_path / "ignored.toml"
    path.write_text(
        '[GHSA-1]\nreason = "not called"\nuntil = 2027-01-31\n[GHSA-2]\nreason = "old"\nuntil = 2026-01-31\n[GHSA-3]\n'
    )
    reasons, complaints = vulnerabilities.accepted(date(2026, 12, 1), path)
    assert reasons == {"GHSA-1": "not called"}
    assert [line.split(":")[1][:12] for line in complaints] == [" GHSA-2 was ", " GHSA-3 need"]


def test_the_list_of_what_is_accepted_is_in_order() -> None:
    assert vulnerabilities.accepted(date(2000, 1, 1))[1] == []


def test_a_withdrawn_version_is_named_and_a_failure_is_not_silent(lock: Path, tmp_path: Path) -> None:
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\necho 'warning: `a==1.0` is yanked (reason: \"broken\")' >&2\n")
    uv.chmod(0o755)
    wrong, reason = indexes.yanked(lock, uv)
    assert (wrong, reason) == (['requirements.lock: a==1.0 was withdrawn by its authors (reason: "broken")'], "")
    uv.write_text("#!/bin/sh\necho no network >&2\nexit 1\n")
    assert indexes.yanked(lock, uv) == ([], "yanked versions: not looked up: no network")
    assert "not looked up" in indexes.yanked(lock, None)[1]
