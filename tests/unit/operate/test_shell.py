"""The operator's client: it runs in the server's task, of the stack's cluster, and nobody here is told a password."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.operate import shell, stack
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.stack import DatabaseOutputs
from tests.programs import make_program

NOMAD = """#!/bin/sh
printf '%s\\n' "$@" >"$TOLD/words"
env >"$TOLD/env"
cat "$NOMAD_CACERT" >"$TOLD/ca"
exit 7
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What Nomad's command line is told, by a program in its place."""
    make_program(tmp_path / "nomad", NOMAD)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("TOLD", str(tmp_path))
    for name in ("NOMAD_OPERATOR_TOKEN", "NOMAD_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NOMAD_ADDR", "http://another:4646")
    known = DatabaseOutputs(DATABASES["mysql"], "db", "databases", "z", "mysql", "root", "secret-word", "preferred", "")
    monkeypatch.setattr(stack, "database_outputs", lambda: known)
    config = {"address": "https://here:4646", "token": "of-the-program", "ca_pem": "PEM"}
    monkeypatch.setattr(stack, "nomad_config", lambda: config)
    at = Endpoint("a1b2", "n1", "client-1", "10.0.0.5", 3306)
    monkeypatch.setattr(shell, "database_cluster", lambda _: SimpleNamespace(endpoint=lambda timeout_s: at))
    return tmp_path


def run(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        shell.client("mysql", list(arguments))
    return ended.value.code


def test_it_enters_the_servers_task_with_the_arguments(told: Path) -> None:
    assert run("--batch", "--execute=SELECT 1; SELECT 2") == 7
    words = (told / "words").read_text().splitlines()
    assert words[:5] == ["alloc", "exec", "-namespace=databases", "-task=mysql", "a1b2"]
    assert words[-2:] == ["--batch", "--execute=SELECT 1; SELECT 2"]
    assert "secret-word" not in (told / "words").read_text() + (told / "env").read_text()


def test_the_cluster_is_that_of_the_stack(told: Path) -> None:
    run()
    env = (told / "env").read_text().splitlines()
    assert {"NOMAD_ADDR=https://here:4646", "NOMAD_TOKEN=of-the-program"} <= set(env)
    assert (told / "ca").read_text() == "PEM"
    [file] = [line.partition("=")[2] for line in env if line.startswith("NOMAD_CACERT=")]
    assert not Path(file).exists(), "it goes with the client"


def test_the_operators_token_counts_before_the_programs(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOMAD_OPERATOR_TOKEN", "of-the-operator")
    run()
    assert "NOMAD_TOKEN=of-the-operator" in (told / "env").read_text().splitlines()


def test_the_client_of_another_database_is_not_opened(told: Path) -> None:
    with pytest.raises(OperateError, match="the stack's database is MySQL: `nomad-stateful mysql`"):
        shell.client("other", [])
    assert not (told / "words").exists()


def test_without_nomad_it_says_what_is_missing(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(told / "nowhere"))
    with pytest.raises(OperateError, match="no nomad on PATH"):
        shell.client("mysql", [])
