"""MySQL's exporter under a real Nomad, which hashes its password: it answers nobody without it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import httpx2
import pytest

from nomad_stateful import jobspec
from nomad_stateful.databases.model import Login
from nomad_stateful.databases.mysql.database import MYSQL
from nomad_stateful.nomad.job_rendering import render
from tests.ports import unused_port
from tests.providers.nomad.agent import Agent, eventually, nomad_binary, running_agent
from tools.packages import find_command

EXPORTER = "prometheus-mysqld-exporter"
JOB, PASSWORD = "mysql-metrics", "of-prometheus-alone"
# Without an authority, of whose certificate the example has no more than the beginning.
LOGIN = Login("mysql-server", "nomad", "preferred", verifies=False, account="exporter", password="of-the-account")
PATHS = ("/metrics", "/metrics?target=127.0.0.1:1", "/probe?target=127.0.0.1:1", "/-/reload", "/")

pytestmark = [
    pytest.mark.nomad,
    pytest.mark.skipif(
        find_command(EXPORTER) is None, reason=f"{EXPORTER} is not installed (python -m tools.packages --tests)"
    ),
]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    nomad = nomad_binary()
    assert nomad
    with running_agent(nomad, tmp_path_factory.mktemp("agent")) as running:
        yield running


@pytest.fixture(scope="module")
def exporter(agent: Agent) -> str:
    """The job's exporter as a program on loopback; no server is there to be measured."""
    example = f"-var-file={jobspec.FOLDER / 'database-metrics.vars.hcl'}"
    text = (jobspec.FOLDER / "database-metrics.nomad.hcl").read_text(encoding="utf-8")
    server = {"database": "mysql", "service": "mysql-server", "account": "exporter", "ca": ""}
    given = {"server": server, "exporter": asdict(MYSQL.exporter(LOGIN, ""))}
    job = render(
        Path(str(nomad_binary())),
        text,
        {},
        example,
        *(f"-var={key}={jobspec.hcl_value(value)}" for key, value in given.items()),
    )
    [group] = job["TaskGroups"]
    [task] = group["Tasks"] = [one for one in group["Tasks"] if one["Name"] == "exporter"]
    at, words = f"127.0.0.1:{unused_port()}", task["Config"]["args"]
    task["Driver"] = "raw_exec"
    task["Config"] = {
        "command": shutil.which(EXPORTER) or str(find_command(EXPORTER)),
        "args": [*(word for word in words if "listen-address" not in word), f"--web.listen-address={at}"],
    }
    path = f"nomad/jobs/{JOB}"
    items = {"password": "of-the-account", "web_password": PASSWORD}
    agent.api.put(f"var/{path}", {"Path": path, "Namespace": "default", "Items": items})
    agent.api.put("jobs", {"Job": job})

    def answers() -> bool:
        try:
            return bool(ask(at, "/"))
        except httpx2.TransportError:
            return False

    eventually(answers, 60, lambda: f"{agent.allocations(JOB)}\n{agent.log_tail()}")
    return at


def ask(at: str, path: str, password: str = "") -> int:
    login = ("prometheus", password) if password else None
    return httpx2.get(f"http://{at}{path}", trust_env=False, timeout=20, auth=login).status_code


@pytest.mark.parametrize("path", PATHS)
def test_without_the_password_it_answers_nothing(exporter: str, path: str) -> None:
    assert ask(exporter, path) == 401
    assert ask(exporter, path, "guessed") == 401


def test_with_the_password_prometheus_scrapes_it(exporter: str) -> None:
    assert ask(exporter, "/metrics", PASSWORD) == 200
