"""The scanner finds what it looks for, however it is written and wherever it lies."""

import base64
import json
import os
import subprocess
import urllib.parse
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.secrets import known, places
from tests.secrets.scan import Piece, Scanner, Secret

PASSWORD = 'p"ä/ss wörd+%\\$1'
SCANNER = Scanner([Secret("password", PASSWORD)])
WAYS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "JSON": json.dumps,
    "JSON in UTF-8": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)),
    "URL": lambda text: urllib.parse.quote(text, safe=""),
    "form": urllib.parse.quote_plus,
    "hex": lambda text: text.encode().hex(),
    "hex in capitals": lambda text: text.encode().hex().upper(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 behind one byte": lambda text: base64.b64encode(b":" + text.encode() + b";").decode(),
    "base64 behind two bytes": lambda text: base64.b64encode(b"u:" + text.encode() + b";;").decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(b"root:" + text.encode()).decode(),
}


def found(*pieces: Piece) -> list[str]:
    return [finding.kind for finding in SCANNER.findings(pieces)]


@pytest.mark.parametrize("way", WAYS)
def test_a_secret_is_found_however_it_is_written(way: str) -> None:
    for around in ("{}", "before {} after", "\0{}\0"):
        content = around.format(WAYS[way](PASSWORD)).encode()
        assert set(found(Piece("place", "anywhere", content))) == {"place"}, content


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_secret_is_not_found(way: str) -> None:
    assert found(Piece("place", "anywhere", WAYS[way](PASSWORD.swapcase()).encode())) == []


def test_a_finding_names_the_secret_and_does_not_show_it() -> None:
    said = [str(finding) for finding in SCANNER.findings([Piece("log file", "a.log", PASSWORD.encode())])]
    assert said == ["log file: password (plain) in a.log"]


def test_nothing_is_taken_for_a_secret_that_would_be_found_by_chance() -> None:
    with pytest.raises(ValueError, match="PIN has less than 6 characters"):
        Scanner([Secret("PIN", "1234")])
    with pytest.raises(ValueError, match="no secret"):
        Scanner([])


def test_command_line_and_environment_of_a_process_are_looked_at() -> None:
    env = {"PATH": os.environ["PATH"], "PASSWORD": PASSWORD}
    with subprocess.Popen(["sh", "-c", "read line", PASSWORD], env=env, stdin=subprocess.PIPE) as process:
        mine = [piece for piece in places.processes() if f" {process.pid} " in piece.place]
        process.communicate()
    assert found(*mine) == ["command line", "environment"]


def test_a_credential_may_be_in_the_variable_that_is_its_own_place(tmp_path: Path) -> None:
    process = tmp_path / "1"
    process.mkdir()
    (process / "cmdline").write_bytes(b"pulumi\0up\0")
    (process / "environ").write_bytes(f"NOMAD_TOKEN={PASSWORD}\0HOME=/root\0".encode())
    assert found(*places.processes(tmp_path)) == []
    (process / "environ").write_bytes(f"HOME=/root\0NOMAD_VAR_task={PASSWORD}".encode())
    assert found(*places.processes(tmp_path)) == ["environment"]


@pytest.mark.parametrize("name", ["daemon.log", "log/calls.jsonl", "alloc/logs/mysql.stderr.0"])
def test_log_files_are_found_by_their_names(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(PASSWORD)
    looked = places.Places({"NOMAD_TOKEN": "token"}, tmp_path, logs=(tmp_path,))
    assert found(*looked.log_files()) == ["log file"]


def test_the_secrets_of_a_state_are_those_the_engine_would_encrypt() -> None:
    def secret(value: object) -> dict[str, str]:
        return {known.SECRET_SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "plaintext": json.dumps(value)}

    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nshort\n-----END KEY-----"
    resource = {
        "urn": "urn:pulumi:dev::p::t::mysql-variable",
        "inputs": {"items": secret({"root_password": "drawn-1234", "tls_key": key}), "path": "nomad/jobs/mysql"},
        "outputs": {"nested": [secret("drawn-5678")], "again": secret("drawn-1234"), "count": secret("no")},
    }
    found = known.of_state(json.dumps({"deployment": {"resources": [resource]}}))
    assert [one.value for one in found] == ["drawn-1234", "MIIEvQIBADANBgkqhkiG9w0B", "drawn-5678"]
    assert {one.name for one in found} == {"secret of mysql-variable"}


def test_a_shells_credentials_are_secrets_too(tmp_path: Path) -> None:
    (tmp_path / "passphrase").write_text("open sesame\n")
    env = {"NOMAD_TOKEN": "a-token", "AWS_ACCESS_KEY_ID": "AKIA", known.PASSPHRASE_FILE: str(tmp_path / "passphrase")}
    assert known.of_environment(env) == [Secret("NOMAD_TOKEN", "a-token"), Secret("passphrase", "open sesame")]
