"""With an authority in the settings, no client of the jobs tells a server a password that it has not verified."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import pytest

from nomad_stateful.components import job_variables
from nomad_stateful.databases.mysql.database import MYSQL
from tests.certificates import Authority
from tests.mysql.databases import PASSWORD
from tests.mysql.place import (
    ROOT_PASSWORD,
    Place,
    Task,
    place,
    query,
    rendered,
    server_task,
    stop,
    task,
    until_it_answers,
)
from tests.ports import unused_port
from tools.packages import find_command
from tools.trial.running import eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]

ACCOUNTS = [
    {"name": "backup", "privileges": MYSQL.backup.privileges, "database": ""},
    {"name": "exporter", "privileges": "PROCESS", "database": ""},
]
KNOWN = {
    "password_backup": PASSWORD,
    "password_exporter": PASSWORD,
    "root_password": ROOT_PASSWORD,
    "Address": "127.0.0.1",
    "ID": "one",
}
JOBS = {
    "dump": ("dump", "dump", PASSWORD),
    "restore": ("restore", "restore", ROOT_PASSWORD),
    "exporter's account": ("database-metrics", "account", PASSWORD),
}


@pytest.fixture(scope="module")
def server(image: Path, nomad: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Authority]]:
    folder = tmp_path_factory.mktemp("verified")
    authority = Authority.made(folder / "own")
    tls = {"mode": "required", "certificate": True, "ca": True}
    with place(image, folder / "place", unused_port()) as made:
        found = server_task(nomad, tls=tls)
        own = {f"tls_{item}": authority.read(f"{name}.pem") for item, name in CERTIFICATE_FILES.items()}
        made.put(found, {"root_password": ROOT_PASSWORD, **own})
        until_it_answers(made, made.start(found))
        accounts = task(nomad, "mysql", "accounts", {"accounts": ACCOUNTS, "tls": tls})
        made.put(accounts, KNOWN)
        done = made.run(accounts)
        assert done.returncode == 0, done.stderr
        query(made, "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY)")
        yield made, authority


CERTIFICATE_FILES = {"certificate": "server-cert", "key": "server-key", "ca": "ca"}


def client(nomad: Path, at: Place, spec: str, name: str, password: str, ca: str) -> Task:
    """A task that logs in over the network, with its files in place."""
    server = {"service": "mysql-server", "provider": "nomad", "tls": "required", "ca": ca}
    both = {"job_id": "x", "placement": {}, "task": {}}
    backup: Any = {**both, "server": server, "account": "backup", "schedule": {}}
    measured = {**server, "image": "mysql:8.4.6", "certificate_name": "127.0.0.1"}
    metrics: Any = {**both, "server": measured, "account": "exporter", "service": {}, "timeout_s": 300}
    made = {
        "dump": job_variables.dump(MYSQL, backup, {}),
        "restore": job_variables.restore(MYSQL, backup, {}),
        "database-metrics": job_variables.database_metrics(MYSQL, metrics),
    }[spec]
    found = task(nomad, spec, name, {key: made[key] for key in ("server", "client", "exporter") if key in made})
    at.put(found, {**KNOWN, "password": password, "Port": str(at.port)})
    return found


def run(at: Place, found: Task) -> str:
    """What a task says until it ends, or until it has what it waits for."""
    words = at.words(found, {"NOMAD_META_dump": "latest", "KEEP": "7"})
    said = ""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout or ():
            said += line.decode()
            if "certificate" in said.lower() or "is as configured" in said:
                break
        stop(process, kill=True)
    return said


DONE = {"dump": "holds shop", "restore": "is restored", "exporter's account": "is as configured"}


@pytest.mark.parametrize("job", JOBS)
def test_a_server_of_the_authority_is_logged_in_to(server: tuple[Place, Authority], nomad: Path, job: str) -> None:
    at, authority = server
    said = run(at, client(nomad, at, *JOBS[job], authority.read("ca.pem")))
    assert DONE[job] in said


@pytest.mark.parametrize("job", JOBS)
def test_a_server_of_another_authority_is_told_nothing(
    server: tuple[Place, Authority], nomad: Path, tmp_path: Path, job: str
) -> None:
    at, _ = server
    stranger = Authority.made(tmp_path / "stranger")
    said = run(at, client(nomad, at, *JOBS[job], stranger.read("ca.pem")))
    assert DONE[job] not in said
    assert "certificate" in said.lower()


@pytest.mark.skipif(
    find_command("prometheus-mysqld-exporter") is None, reason="not installed (python -m tools.packages --tests)"
)
@pytest.mark.parametrize("own", [True, False], ids=["its authority", "another"])
def test_the_exporter_verifies_the_server(
    server: tuple[Place, Authority], nomad: Path, tmp_path: Path, own: bool
) -> None:
    at, authority = server
    ca = (authority if own else Authority.made(tmp_path / "stranger")).read("ca.pem")
    found = client(nomad, at, "database-metrics", "exporter", PASSWORD, ca)
    (tmp_path / "secrets").mkdir()
    for destination, text in found.files.items():
        if not destination.endswith("web.yml"):
            known = {**KNOWN, "password": PASSWORD, "Port": str(at.port)}
            shown = rendered(text, known).replace("/secrets/", f"{tmp_path}/secrets/")
            (tmp_path / "secrets" / Path(destination).name).write_text(shown)
    port = unused_port()
    args = [word for word in found.words if "web." not in word]
    words = [word.replace("${NOMAD_SECRETS_DIR}", f"{tmp_path}/secrets") for word in args]
    command = [str(find_command("prometheus-mysqld-exporter")), *words, f"--web.listen-address=127.0.0.1:{port}"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        up = eventually(lambda: measured(port), 60, "the exporter answers", (tmp_path / "log").read_text)
        assert up == ("mysql_up 1" if own else "mysql_up 0"), (tmp_path / "log").read_text()
    finally:
        process.kill()
        process.wait()


def measured(port: int) -> str | None:
    try:
        with build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            text: str = answer.read().decode()
            return next(line for line in text.splitlines() if line.startswith("mysql_up "))
    except (URLError, ConnectionError, TimeoutError):
        return None
