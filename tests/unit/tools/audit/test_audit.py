"""What the audit complains about, and what it says when it cannot ask."""

import json
from datetime import date
from pathlib import Path

import pytest

from tests.fake_nomad.server import Reply, Request, serving
from tests.programs import make_program
from tools.audit import __main__ as audit
from tools.audit import licences, packages, vulnerabilities

HASH = f"--hash=sha256:{'0' * 64}"


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "requirements.lock"


def test_an_npm_package_without_integrity_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "package-lock.json"
    whole = {"integrity": f"sha512-{'A' * 86}=="}
    local = {"link": True}
    names = {"": {}, "node_modules/a": whole, "node_modules/a/node_modules/b": {}, "node_modules/c": local}
    path.write_text(json.dumps({"packages": names}))
    assert packages.without_hash(path) == [f"{path}: b has no hash"]


def test_the_environment_is_what_the_lock_says() -> None:
    assert packages.differences(audit.LOCK) == []


def test_an_environment_that_is_not_what_the_lock_says_is_refused(lock: Path) -> None:
    pins = audit.LOCK.read_text()
    lock.write_text(pins[: pins.index("\nxmltodict==")] + "\n")
    assert [line.partition(":")[0] for line in packages.differences(lock)] == [
        f".venv holds, and the lock does not, xmltodict=={version('xmltodict')}"
    ]


@pytest.mark.parametrize("line", ["xmltodict>=1", "xmltodict==0.1", f"no-such-package==1.0 {HASH}"])
def test_a_lock_that_cannot_be_held_to_is_refused(lock: Path, line: str) -> None:
    lock.write_text(f"{line}\n")
    assert "cannot hold what requirements.lock says" in packages.differences(lock)[0]


def version(name: str) -> str:
    from importlib import metadata

    return metadata.version(name)


@pytest.mark.parametrize("licence", ["AGPL-3.0-or-later", "", "MIT AND GPL-3.0", "SEE LICENSE IN LICENSE"])
def test_a_licence_that_is_not_on_the_list_is_refused(licence: str) -> None:
    assert len(licences.unlisted({"example": licence})) == 1


@pytest.mark.parametrize("licence", ["MIT", "(MIT OR GPL-2.0)", "Apache-2.0 AND CNRI-Python"])
def test_a_licence_on_the_list_is_taken(licence: str) -> None:
    assert licences.unlisted({"example": licence}) == []


def service(request: Request) -> Reply:
    """Knows one vulnerability, of example 1.0."""
    hit = (request.document["package"]["name"], request.document["version"]) == ("example", "1.0")
    known = {"id": "PYSEC-1", "aliases": ["GHSA-1"], "summary": "", "affected": []}
    return Reply(200, {"vulns": [known]} if hit else {})


def test_a_known_vulnerability_is_named_with_its_package(lock: Path) -> None:
    lock.write_text(f"fine==1.0 {HASH}\nexample==1.0 {HASH}\n")
    with serving(service) as address:
        found = list(map(str, vulnerabilities.python([lock], address)))
    assert found == ["example 1.0 has the known vulnerability PYSEC-1, GHSA-1"]


def test_a_line_without_a_version_or_a_hash_is_not_looked_up(lock: Path) -> None:
    for line in ("loose>=1", "bare==2.0"):
        lock.write_text(f"{line}\n")
        with pytest.raises(vulnerabilities.NotLookedUp, match=r"loose|bare"):
            vulnerabilities.python([lock])


def test_a_service_that_does_not_answer_is_named(lock: Path) -> None:
    lock.write_text(f"fine==1.0 {HASH}\n")
    with pytest.raises(vulnerabilities.NotLookedUp, match=r"127\.0\.0\.1.*9"):
        vulnerabilities.python([lock], "http://127.0.0.1:9")


def test_what_npm_knows_is_named_once_and_its_errors_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "package-lock.json"
    npm = tmp_path / "bin/npm"
    monkeypatch.setenv("PATH", str(npm.parent))
    with pytest.raises(vulnerabilities.NotLookedUp, match="npm is not on PATH"):
        vulnerabilities.npm(lock)
    advisory = {"url": "https://github.com/advisories/GHSA-1"}
    known = {"a": {"via": [advisory, advisory]}, "b": {"via": ["a"]}}
    make_program(npm, f"echo '{json.dumps({'vulnerabilities': known})}'\nexit 1")
    assert list(map(str, vulnerabilities.npm(lock))) == [f"{lock}: a has the known vulnerability GHSA-1"]
    make_program(npm, """echo '{"message": "405 Method Not Allowed"}'\nexit 1""")
    with pytest.raises(vulnerabilities.NotLookedUp, match="405 Method Not Allowed"):
        vulnerabilities.npm(lock)


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


def test_a_withdrawn_version_is_named_and_a_failure_is_not_silent(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uv = tmp_path / "uv"
    monkeypatch.setattr(packages, "uv", lambda: uv)
    assert "not looked up" in packages.yanked(lock)[1]
    make_program(uv, "echo 'warning: `a==1.0` is yanked (reason: \"broken\")' >&2")
    wrong, reason = packages.yanked(lock)
    assert (wrong, reason) == (['requirements.lock: a==1.0 was withdrawn by its authors (reason: "broken")'], "")
    make_program(uv, "echo no network >&2\nexit 1")
    assert packages.yanked(lock) == ([], "yanked versions: not looked up: no network")


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, list[object]]:
    """What the services say, each time that they are asked."""
    said: dict[str, list[object]] = {"known": [], "complaints": [], "missing": [], "asked": []}

    def ask() -> dict[str, list[object]]:
        said["asked"].append(1)
        return said

    monkeypatch.setattr(audit, "CACHE", tmp_path)
    monkeypatch.setattr(audit, "asked", ask)
    monkeypatch.delenv("AUDIT", raising=False)
    return said


def test_an_audit_that_could_not_ask_passes_with_a_note_and_fails_where_it_must(
    answer: dict[str, list[object]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer["missing"] = ["vulnerabilities: not looked up: no route"]
    assert audit.main() == 0
    assert "audit: vulnerabilities: not looked up: no route" in capsys.readouterr().err
    monkeypatch.setenv("AUDIT", "require")
    assert audit.main() == 1
    assert "error: vulnerabilities: not looked up: no route" in capsys.readouterr().err
    # What was kept without an answer does not stand in for one.
    assert len(answer["asked"]) == 2


def test_a_known_vulnerability_fails_the_audit_unless_one_of_its_names_is_accepted(
    answer: dict[str, list[object]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer["known"] = [["example 1.0 has the known vulnerability PYSEC-1, GHSA-1", ["PYSEC-1", "GHSA-1"]]]
    assert audit.main() == 1
    assert "error: example 1.0" in capsys.readouterr().err
    monkeypatch.setattr(vulnerabilities, "accepted", lambda _today: ({"GHSA-1": "not called"}, []))
    assert audit.main() == 0
