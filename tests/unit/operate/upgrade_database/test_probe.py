"""The new image is tried beside the server: its job, and what its end means."""

from __future__ import annotations

from typing import Any

import pytest

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.upgrades import UpgradeRefusedError, Version
from nomad_stateful.operate.errors import TimedOutError
from nomad_stateful.operate.upgrade_database.probe import Probe
from tests.fake_nomad import FakeNomad
from tests.fake_nomad.jobs import ended

NEW = Version((9, 7, 4))
GOOD = "/usr/sbin/mysqld  Ver 9.7.4 for Linux on x86_64\nprobe: done\n"
MY_CNF = {"DestPath": "local/my.cnf", "EmbeddedTmpl": "[mysqld]\nmax_connections = 50\n"}
SECRET = {"DestPath": "${NOMAD_SECRETS_DIR}/root-password", "EmbeddedTmpl": "{{ with nomadVar }}"}
ARGS = [
    "${NOMAD_TASK_DIR}/start.sh",
    "--defaults-extra-file=${NOMAD_TASK_DIR}/my.cnf",
    "--datadir=/srv/mysql",
    "--skip-name-resolve",
    "--innodb-flush-method=fsync",
    "--init-file=${NOMAD_SECRETS_DIR}/root-password.sql",
    "--ssl-cert=${NOMAD_SECRETS_DIR}/server-cert.pem",
    "--port=${NOMAD_PORT_db}",
]


def job(**template: Any) -> dict[str, Any]:
    config = {"image": "mysql:9.7.4", "args": ARGS, "ports": ["db"], "mount": []}
    task = {"Name": "mysql", "Driver": "docker", "Config": config, "Templates": [MY_CNF | template, SECRET]}
    return {"ID": "mysql-server", "Namespace": "data", "NodePool": "db", "TaskGroups": [{"Tasks": [task]}]}


PROBE = "mysql-server-upgrade-probe"


def ends(nomad: FakeNomad, status: str, log: str = "", events: str = "", killed: int = 0) -> FakeNomad:
    """Has the probe's job end so."""
    state = {"Events": [{"DisplayMessage": events}]} if status != "complete" else ended(killed, killed=bool(killed))
    allocation = {"ID": "a1", "Namespace": "data", "ClientStatus": status, "TaskStates": {"probe": state}}
    nomad.put("namespace/data", {"Name": "data"})
    nomad.put(f"job/{PROBE}/allocations", [allocation], "data")
    nomad.put("client/fs/logs/a1", log, "data")
    return nomad


def run(nomad: FakeNomad, made: dict[str, Any] | None = None) -> None:
    """Tries the image, and leaves no job."""
    try:
        Probe(nomad.api, DATABASES["mysql"], made or job(), "node-1", 0.0).run(NEW)
    finally:
        assert nomad.api.find(f"job/{PROBE}", namespace="data") is None, "the job is left"


def test_it_runs_the_new_image_on_mysqls_client_with_the_options_and_no_secret(nomad: FakeNomad) -> None:
    run(ends(nomad, "complete", GOOD))
    [made] = [one["Job"] for one in nomad.sent("jobs")]
    assert (made["Type"], made["Namespace"], made["NodePool"]) == ("batch", "data", "db")
    [group] = made["TaskGroups"]
    assert group["Constraints"][0]["RTarget"] == "node-1"
    [task] = group["Tasks"]
    assert task["Config"]["image"] == "mysql:9.7.4"
    assert task["Config"]["args"][1:] == [
        "--defaults-extra-file=${NOMAD_TASK_DIR}/my.cnf",
        "--skip-name-resolve",
        "--innodb-flush-method=fsync",
    ]
    assert [one["DestPath"] for one in task["Templates"]] == ["local/probe.sh", "local/my.cnf"]
    assert "VolumeMounts" not in task


def test_options_that_look_up_secrets_are_not_tried(nomad: FakeNomad) -> None:
    run(ends(nomad, "complete", GOOD), job(EmbeddedTmpl="[mysqld]\nx = {{ with nomadVar }}"))
    [task] = nomad.sent("jobs")[0]["Job"]["TaskGroups"][0]["Tasks"]
    assert task["Env"] == {"OPTIONS": "skip"}
    assert len(task["Config"]["args"]) == 1
    assert [one["DestPath"] for one in task["Templates"]] == ["local/probe.sh"]


@pytest.mark.parametrize(
    ("status", "log", "events", "why"),
    [
        ("failed", "", "Failed to pull `mysql:9.7.4`", "Failed to pull"),
        (
            "failed",
            GOOD + "2026-11-23T10:00:00Z 0 [ERROR] [MY-000067] [Server] unknown variable 'x=1'.\n",
            "Exit Code: 1",
            "unknown variable 'x=1'",
        ),
        ("failed", "no mysqld in this image\n", "", "no mysqld in this image"),
        ("complete", GOOD.replace("9.7.4", "9.7.3"), "", "the image has MySQL 9.7.3, and VERSION is 9.7.4"),
    ],
)
def test_an_image_that_would_not_start_is_refused(
    nomad: FakeNomad, status: str, log: str, events: str, why: str
) -> None:
    with pytest.raises(UpgradeRefusedError) as refused:
        run(ends(nomad, status, log, events))
    assert why in str(refused.value)


def test_a_try_that_was_stopped_proves_nothing(nomad: FakeNomad) -> None:
    with pytest.raises(UpgradeRefusedError, match="Task successfully killed"):
        run(ends(nomad, "complete", GOOD, killed=137))


def test_an_image_that_does_not_come_is_not_waited_for_without_end(nomad: FakeNomad) -> None:
    with pytest.raises(TimedOutError, match="Nothing was changed"):
        run(ends(nomad, "pending"))
