"""The scripts by which a client leaves and comes back, as docs/clients.md has them, run against stand-ins."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from sandbox.cluster import client
from sandbox.docker.store import Store
from sandbox.settings import PROJECT, parse_settings

SCRIPTS = PROJECT / "examples/clients"
SETTINGS = parse_settings({}, Path("/nowhere"))


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def run(folder: Path, script: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(SCRIPTS / script)],
        env={"PATH": f"{folder}:{os.environ['PATH']}", "FOLDER": str(folder), **env},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def test_the_page_installs_each_file_and_makes_what_they_read() -> None:
    page = (PROJECT / "docs/clients.md").read_text(encoding="utf-8")
    installed = {word for line in re.findall(r"^\$ install (.+)$", page, re.MULTILINE) for word in line.split()}
    assert {path.name for path in SCRIPTS.iterdir()} <= installed
    read = {
        one
        for path in SCRIPTS.iterdir()
        for one in re.findall(r"^EnvironmentFile=(.+)$", path.read_text(), re.MULTILINE)
    }
    assert read == set(re.findall(r"^\$ cat > (\S+)", page, re.MULTILINE))


CURL = """
for word; do last=$word; done
case $last in
  */api/token) echo token ;;
  *%s) echo '%s' ;;
  *) exit 22 ;;
esac"""


@pytest.mark.parametrize(
    ("path", "said", "rebalance"),
    [
        ("spot/instance-action", '{"action": "terminate"}', "no"),
        ("autoscaling/target-lifecycle-state", "Terminated", "no"),
        ("events/recommendations/rebalance", '{"noticeTime": "x"}', "yes"),
    ],
)
def test_a_notice_stops_the_client(tmp_path: Path, path: str, said: str, rebalance: str) -> None:
    program(tmp_path, "curl", CURL % (path, said))
    done = run(tmp_path, "let-go.sh", STOP=f"touch {tmp_path}/stopped", EVERY_S="0.01", REBALANCE=rebalance)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "stopped").exists()
    assert "has left" in done.stderr


@pytest.mark.parametrize(
    ("path", "said"),
    [("autoscaling/target-lifecycle-state", "InService"), ("events/recommendations/rebalance", '{"noticeTime": "x"}')],
)
def test_nothing_is_stopped_without_a_notice(tmp_path: Path, path: str, said: str) -> None:
    program(tmp_path, "curl", CURL % (path, said))
    # The third pause ends the script.
    program(tmp_path, "sleep", 'echo x >>"$FOLDER/looks"; [ "$(wc -l <"$FOLDER/looks")" -lt 3 ] || kill $PPID')
    run(tmp_path, "let-go.sh", STOP=f"touch {tmp_path}/stopped")
    assert (tmp_path / "looks").read_text().count("x") == 3
    assert not (tmp_path / "stopped").exists()


NOMAD = """
case "$*" in
  'node status'*) echo "$STATE" ;;
  *) echo "$NOMAD_TOKEN $*" >"$FOLDER/asked" ;;
esac"""


@pytest.mark.parametrize(
    ("state", "asked"),
    [
        ("ready ineligible complete shutting down", "secret node eligibility -enable n-1\n"),
        ("ready ineligible complete nomad-stateful drain", ""),
        ("ready eligible ", ""),
    ],
)
def test_only_a_client_that_drained_as_it_was_shut_down_comes_back(tmp_path: Path, state: str, asked: str) -> None:
    program(tmp_path, "nomad", NOMAD)
    (tmp_path / "client").mkdir()
    (tmp_path / "client/client-id").write_text("n-1")
    (tmp_path / "token").write_text("secret")
    done = run(tmp_path, "come-back.sh", DATA_DIR=str(tmp_path), TOKEN_FILE=f"{tmp_path}/token", STATE=state)
    assert done.returncode == 0, done.stderr
    found = tmp_path / "asked"
    assert (found.read_text() if found.exists() else "") == asked


def test_a_new_client_has_nothing_to_come_back_from(tmp_path: Path) -> None:
    assert run(tmp_path, "come-back.sh", DATA_DIR=str(tmp_path)).returncode == 0


def test_the_sandboxs_clients_leave_as_the_example_says() -> None:
    config = client.config(SETTINGS, SETTINGS.instances[0], Store(Path("/store")))
    example = (SCRIPTS / "client.hcl").read_text()
    wanted = [
        " ".join(line.split()) for line in example.splitlines() if "=" in line and not line.strip().startswith("#")
    ]
    known = {" ".join(line.split()) for line in config.splitlines()}
    assert set(wanted) <= known
    assert f"TimeoutStopSec={client.STOP_S}" in (SCRIPTS / "nomad-leave.conf").read_text()
